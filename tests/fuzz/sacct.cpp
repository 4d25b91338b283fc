// SPDX-License-Identifier: BSD-3-Clause
// sacct -P output: a site's own history.
#include "tests/fuzz/jobs.h"

using namespace ringrt;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const sim::WorkloadOptions options{.cluster_gpus = 8, .malleable_max = 8};
    sim::TextFile file{"dump", std::string(fuzz::text_of(data, size))};
    fuzz::read_checked([&] { return sim::parse_sacct(std::move(file), options); }, options);
    return 0;
}
