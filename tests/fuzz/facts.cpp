// SPDX-License-Identifier: BSD-3-Clause
// The files that ringrtd writes for job_submit/malleable, which reads them in slurmctld.
#include "slurm_plugin/slurm/host/facts_file.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::slurm;
using namespace ringrt::fuzz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text = text_of(data, size);
    if (const auto intent = intent_in(text, "12"))
        expect(intent->size() <= 4096, "a record is bounded");
    const auto facts = parse_facts(text);
    if (!facts) return 0;
    expect(facts->hold_s >= 0 && facts->hold_s <= kHoldMax_s, "hold");
    for (const auto &[name, partition] : facts->partitions)
        expect(partition.gpus_in_all >= 0 && partition.gpus_in_all <= kGpusInAllMax, "GPUs");
    expect(parse_facts(format_facts(*facts)) == facts, "reading and writing changes nothing");
    return 0;
}
