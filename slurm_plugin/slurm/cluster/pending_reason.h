// SPDX-License-Identifier: GPL-2.0-or-later
// Why Slurm does not start a pending job.
#pragma once

#include <slurm/slurm.h>

#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

[[nodiscard]] controller::PendingReason waits_of(const slurm_job_info_t &job);

// Of a state reason: limits on what a user, an account or a QOS may run at once, limits on the time
// for which their jobs may run in total, and licences.
[[nodiscard]] std::optional<controller::SharedLimit> limit_of(uint32_t reason);

// Whether it is pending at such a limit.
[[nodiscard]] bool waits_at_limit(const slurm_job_info_t &job);

[[nodiscard]] controller::SlurmHold slurm_hold_of(const slurm_job_info_t &job);

// "solver" and "viewer@host" of "solver:4,viewer@host:1", in Slurm's order.
[[nodiscard]] std::vector<std::string> licence_names(const std::string &licences);

}  // namespace ringrt::slurm
