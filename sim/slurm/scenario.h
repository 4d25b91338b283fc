// SPDX-License-Identifier: BSD-3-Clause
// A scenario: a cluster, its jobs and what to do with them, in one YAML file (ringsim(1) has the
// keys).
#pragma once

#include <string>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/workload/workload.h"
#include "slurm_plugin/controller/options.h"

namespace ringrt::sim {

// What a job's program does, for the controller's own loop.
struct ProgramSpec {
    double up_s = 1;         // from its start until its runtime is up
    double save_s = 0.5;     // a checkpoint
    double telemetry_s = 0;  // between two reports; 0: it reports nothing
};

struct Scenario {
    Workload workload;
    std::vector<ProgramSpec> programs;  // of workload.jobs
    SimOptions sim;
    double payback = 1;
    std::vector<PolicySpec> policies;
    // The parameters of malleable.yaml; what is simulated acts.
    controller::Options controller{.mode = controller::Mode::act};
};

// Throws InputError with file and line.
[[nodiscard]] Scenario read_scenario(const std::string &path);
[[nodiscard]] Scenario parse_scenario(const TextFile &file);

}  // namespace ringrt::sim
