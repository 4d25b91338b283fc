// SPDX-License-Identifier: BSD-3-Clause
// sacct -P output: a site's own history.
#include "tests/fuzz/input_file.h"

using namespace ringrt;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fuzz::InputFile file;
    static const sim::WorkloadOptions options{.cluster_gpus = 8, .malleable_max = 8};
    file.hold(fuzz::text_of(data, size));
    fuzz::read_checked([] { return sim::read_sacct(file.path(), options); }, options);
    return 0;
}
