// SPDX-License-Identifier: BSD-3-Clause
// Input of the simulated Slurm: the jobs, their programs and the controller's parameters.
#pragma once

#include <vector>

#include "sim/engine/engine.h"
#include "sim/workload/workload.h"
#include "slurm_plugin/controller/options.h"

namespace ringrt::sim {

// The behaviour of a job's program.
struct ProgramSpec {
    double up_s = 1;         // malleable job: from its start until its runtime is up
    double reload_s = -1;    // the same after a restart; negative: up_s
    double rigid_up_s = 0;   // rigid job: from its start to its first step
    double save_s = 0.5;     // time of a checkpoint
    double telemetry_s = 0;  // between two reports; 0: it reports nothing
};

struct Site {
    const Workload *workload = nullptr;
    const std::vector<ProgramSpec> *programs = nullptr;  // for workload->jobs
    const SimOptions *sim = nullptr;
    const controller::Options *controller = nullptr;
    // Observations have a version, so that a pass without news is short. The progress that jobs
    // report is then as old as the last decision.
    bool has_versions = false;
};

}  // namespace ringrt::sim
