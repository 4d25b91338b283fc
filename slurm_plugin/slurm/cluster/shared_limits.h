// SPDX-License-Identifier: GPL-2.0-or-later
// What the limits of accounts and QOS leave to jobs, by slurmctld's counts: how many GPUs a
// malleable job may have, and how much is missing for jobs pending at a limit.
#pragma once

#include <slurm/slurm.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/slurm/cluster/allowed_size.h"
#include "slurm_plugin/slurm/cluster/api_times.h"
#include "slurm_plugin/slurm/cluster/slurm_lists.h"

namespace ringrt::slurm {

// Whether a malleable job has an account or a QOS. (Without slurmdbd none has.)
[[nodiscard]] bool has_limited_job(const std::vector<controller::JobRecord> &jobs);

class SharedLimits {
  public:
    // Sets gpus_allowed and at_limit.short_by. Queries slurmctld for the accounts and QOS of
    // malleable jobs and of jobs pending at a limit. Returns whether a record changed. If slurmctld
    // does not answer, no record changes.
    bool ask(std::vector<controller::JobRecord> &jobs, const SiteLimits &site, ApiTimes &api);
    // A limit can change while no job does.
    [[nodiscard]] bool is_due() const { return Clock::now() - asked_ >= kAskedEvery; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kAskedEvery{20};

    static assoc_mgr_info_msg_t *load(const std::set<std::string> &accounts,
                                      const std::set<std::string> &classes, ApiTimes &api);
    // Returns whether a parent was new; it is then added to `accounts`.
    bool note_parents(const assoc_mgr_info_msg_t &limits, std::set<std::string> &accounts);

    Parents parents_;  // as last reported
    Clock::time_point asked_;
};

// The same for one answer.
bool note_limits(const assoc_mgr_info_msg_t &limits, const SiteLimits &site,
                 std::vector<controller::JobRecord> &jobs);

// Copies to the newer record of the same job. The allowed size does not depend on whether it runs.
void keep_noted(const controller::JobRecord &before, controller::JobRecord &job);

}  // namespace ringrt::slurm
