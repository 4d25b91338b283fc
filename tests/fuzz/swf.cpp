// SPDX-License-Identifier: BSD-3-Clause
// Standard Workload Format.
#include "tests/fuzz/jobs.h"

using namespace ringrt;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const sim::WorkloadOptions options{.cluster_gpus = 8, .malleable_max = 8};
    const sim::TextFile file{"trace.swf", std::string(fuzz::text_of(data, size))};
    fuzz::read_checked([&] { return sim::parse_swf(file, options); }, options);
    return 0;
}
