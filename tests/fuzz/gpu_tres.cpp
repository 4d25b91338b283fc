// SPDX-License-Identifier: GPL-2.0-or-later
// The GPU counts in the texts of nodes and allocations.
#include "slurm_plugin/slurm/cluster/gpu_tres.h"

#include "tests/fuzz/fuzz.h"

using namespace ringrt::slurm;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    expect(count_gpus(text) >= 0, "a count of GPUs");
    const auto tres = parse_gpu_tres(text);
    if (!tres) return 0;
    expect(tres->count >= 0, "a count of GPUs");
    expect(mentions_gpu(text), "what has GPUs mentions them");
    const auto again = parse_gpu_tres(format_gpu_tres(tres->name, tres->count));
    expect(again && again->count == tres->count, "what was written can be read");
    return 0;
}
