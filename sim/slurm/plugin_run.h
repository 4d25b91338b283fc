// SPDX-License-Identifier: BSD-3-Clause
// The plugin's own loop on a whole workload: `plugin` in `ringsim compare`.
#pragma once

#include <atomic>
#include <cstdint>

#include "sim/engine/engine.h"
#include "slurm_plugin/controller/controller.h"

namespace ringrt::sim {

class SimCluster;

// Calls the controller at the times that it asks for, until every job has ended (true), `stop`
// becomes true, or years have passed (false). `done` counts finished jobs during the run.
bool drive(SimCluster &cluster, controller::Controller &controller,
           const std::atomic<bool> *stop = nullptr, std::atomic<uint64_t> *done = nullptr);

// The parts of a restart that are not the program's own start: the save, and Slurm's time from a
// requeue to the next start (doc/policies.md).
inline constexpr double kSave_s = 0.5, kRequeue_s = 2;

// `policy` must have a controller's parameters. Malleable jobs have no time limit here: users would
// request what the smallest size needs.
[[nodiscard]] RunResult simulate_plugin(const Workload &workload, const PolicySpec &policy,
                                        const SimOptions &options,
                                        const std::atomic<bool> *stop = nullptr,
                                        std::atomic<uint64_t> *done = nullptr);

}  // namespace ringrt::sim
