// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <string>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// The record of each malleable job, by the names that a command may give it: "100", and "100_3" of
// an array's task. kManyJobs (sched_view.h) stands for an array whose tasks have records of their
// own.
using KnownIntents = std::map<std::string, std::string>;

[[nodiscard]] KnownIntents known_intents(const controller::Observation &seen);

}  // namespace ringrt::slurm
