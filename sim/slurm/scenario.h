// SPDX-License-Identifier: BSD-3-Clause
// A scenario: a cluster, its jobs and the run's parameters in one YAML file (ringsim(1) lists the
// keys).
#pragma once

#include <string>
#include <vector>

#include "sim/engine/policy_spec.h"
#include "sim/slurm/program.h"

namespace ringrt::sim {

struct Scenario {
    Workload workload;
    std::vector<ProgramSpec> programs;  // for workload.jobs
    SimOptions sim;
    double payback = 1;
    std::vector<PolicySpec> policies;
    // The parameters of malleable.yaml; the simulated controller is in mode act.
    controller::Options controller{.mode = controller::Mode::act};

    [[nodiscard]] Site site() const { return {&workload, &programs, &sim, &controller}; }
};

// Throws InputError with file and line.
[[nodiscard]] Scenario read_scenario(const std::string &path);
[[nodiscard]] Scenario parse_scenario(const TextFile &file);

}  // namespace ringrt::sim
