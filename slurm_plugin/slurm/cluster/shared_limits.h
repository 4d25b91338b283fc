// SPDX-License-Identifier: GPL-2.0-or-later
// What the limits of accounts and QOS leave to jobs, as slurmctld counts: how many GPUs a malleable
// job may have, and what those who wait at a limit lack below it.
#pragma once

#include <slurm/slurm.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/slurm/cluster/api_times.h"
#include "slurm_plugin/slurm/cluster/slurm_lists.h"

namespace ringrt::slurm {

// Is there a malleable job with an account or a QOS? (Without slurmdbd it has neither.)
[[nodiscard]] bool has_limited_job(const std::vector<controller::JobRecord> &jobs);

class SharedLimits {
  public:
    // Sets gpus_allowed and at_limit.short_by; most_on_a_node: see gpus_allowed(). Asks slurmctld
    // for the accounts and QOS of malleable jobs and of those that wait at a limit. Whether a
    // record is another than before; where slurmctld does not answer, all stay as they are.
    bool ask(std::vector<controller::JobRecord> &jobs, int most_on_a_node, ApiTimes &api);
    // A limit changes without a job that does.
    [[nodiscard]] bool is_due() const { return Clock::now() - asked_ >= kAskedEvery; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kAskedEvery{20};

    static assoc_mgr_info_msg_t *load(const std::set<std::string> &accounts,
                                      const std::set<std::string> &classes, ApiTimes &api);
    // Whether one was new; it is one of `accounts` then.
    bool note_parents(const assoc_mgr_info_msg_t &limits, std::set<std::string> &accounts);

    Parents parents_;  // as last told
    Clock::time_point asked_;
};

// The same of one answer.
bool note_limits(const assoc_mgr_info_msg_t &limits, int most_on_a_node,
                 std::vector<controller::JobRecord> &jobs);

// To the same job's newer record; what it may have is the same whether it runs or waits.
void keep_noted(const controller::JobRecord &before, controller::JobRecord &job);

}  // namespace ringrt::slurm
