// SPDX-License-Identifier: BSD-3-Clause
// What runs on the Slurm in virtual time: the jobs, how their programs behave, and the controller's
// parameters.
#pragma once

#include <vector>

#include "sim/engine/engine.h"
#include "sim/workload/workload.h"
#include "slurm_plugin/controller/options.h"

namespace ringrt::sim {

// What a job's program does.
struct ProgramSpec {
    double up_s = 1;         // of a malleable job: from its start until its runtime is up
    double reload_s = -1;    // the same where it starts again; negative: up_s
    double rigid_up_s = 0;   // of a rigid one: from its start to its first step
    double save_s = 0.5;     // a checkpoint
    double telemetry_s = 0;  // between two reports; 0: it reports nothing
};

struct Site {
    const Workload *workload = nullptr;
    const std::vector<ProgramSpec> *programs = nullptr;  // of workload->jobs
    const SimOptions *sim = nullptr;
    const controller::Options *controller = nullptr;
    // Observations carry a version, so that a pass that finds nothing new is short; what jobs tell
    // of their progress is then as old as the last decision.
    bool has_versions = false;
};

}  // namespace ringrt::sim
