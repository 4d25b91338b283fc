// SPDX-License-Identifier: BSD-3-Clause
// Scenarios (YAML), which ringsim reads.
#include "sim/slurm/scenario.h"

#include "tests/fuzz/jobs.h"

using namespace ringrt;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const sim::TextFile file{"scenario.yaml", std::string(fuzz::text_of(data, size))};
    try {
        const sim::Scenario scenario = sim::parse_scenario(file);
        sim::WorkloadOptions options;
        options.cluster_gpus = scenario.sim.nodes * scenario.sim.gpus_per_node;
        fuzz::expect(options.cluster_gpus >= 1, "a cluster has GPUs");
        fuzz::expect(scenario.programs.size() == scenario.workload.jobs.size(), "a program a job");
        fuzz::check_jobs(scenario.workload, options);
    } catch (const sim::InputError &error) {
        fuzz::expect(fuzz::is_one_line(error.what()), "a refused scenario gets one line");
    }
    return 0;
}
