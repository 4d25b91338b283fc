// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <string>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// The record of each malleable job, by the names that a command may use: "100", and "100_3" for an
// array task. kManyJobs (sched_view.h) stands for an array whose tasks have their own records.
using KnownIntents = std::map<std::string, std::string>;

[[nodiscard]] KnownIntents known_intents(const controller::Observation &seen);

}  // namespace ringrt::slurm
