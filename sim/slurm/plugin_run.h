// SPDX-License-Identifier: BSD-3-Clause
// The plugin's own loop on a whole workload: what `ringsim compare` calls `plugin`.
#pragma once

#include <atomic>
#include <cstdint>

#include "sim/engine/engine.h"
#include "slurm_plugin/controller/controller.h"

namespace ringrt::sim {

class SimCluster;

// Calls the controller whenever it wants to be called, until every job has ended (true), `stop`
// becomes true, or years have passed (false). `done` is told finished jobs as they come.
bool drive(SimCluster &cluster, controller::Controller &controller,
           const std::atomic<bool> *stop = nullptr, std::atomic<uint64_t> *done = nullptr);

// Of a restart's seconds, what is not the program's own start: saving, and Slurm's way from a
// requeue to the next start (doc/policies.md).
inline constexpr double kSave_s = 0.5, kRequeue_s = 2;

// `policy` is the one with a controller's parameters. Jobs that may be resized have no time limit
// here: their users would ask for what their smallest size needs.
[[nodiscard]] RunResult simulate_plugin(const Workload &workload, const PolicySpec &policy,
                                        const SimOptions &options,
                                        const std::atomic<bool> *stop = nullptr,
                                        std::atomic<uint64_t> *done = nullptr);

}  // namespace ringrt::sim
