// SPDX-License-Identifier: BSD-3-Clause
// Tells whether processes of a job's last run may still be alive. A job must not start while they
// are: its launch fails and the node drains ("Duplicate jobid"). If slurmctld receives the end of
// the old run after the start of the new one, the new run's srun crashes slurmctld (22.05).
//
// A run has ended on all nodes if the job was asked, requeued while the controller watched, and its
// nodes stayed up. After any other end (a user's requeue, a lost node, a gap in the polls) the
// fence is up for kFence_s. It goes up again when one of the run's nodes goes down or returns.
#pragma once

#include <optional>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/stage.h"

namespace ringrt::controller {

inline constexpr double kFence_s = 20;  // KillWait's usual 10 s, and a margin

class Fence {
  public:
    // Call in each pass. asked: the intent says that the job was asked. gap_end_s: when polling
    // resumed after the last gap. was_watched: the previous controller saw the job until now, and
    // no node is lost.
    void update(const JobRecord &record, Stage stage, bool asked,
                const std::vector<NodeRecord> &nodes, double gap_end_s, double now_s,
                bool was_watched = false);

    // Unix time from which no process of the last run is alive; 0: the fence is down.
    [[nodiscard]] double clear_s() const { return up_since_s_ ? *up_since_s_ + kFence_s : 0; }
    [[nodiscard]] bool is_up() const { return up_since_s_.has_value(); }
    // The fence is up, and a node of the last run is down or unknown. Processes there show only
    // when the node returns.
    [[nodiscard]] bool has_lost_node() const { return is_up() && !nodes_up_; }
    // Whether a launch now gets a credential that slurmd accepts. slurmd refuses a credential that
    // is not younger, in whole seconds of slurmctld's clock, than the request to end the job; the
    // job then fails. slurmd keeps the time of the run's first such request, even if slurmctld
    // repeats it (cred_revoke()). That request is older than the first answer that showed the job
    // completing, so a launch in a later second is safe. If slurmctld does not send a new record,
    // the same time must pass on the local clock. The two clocks are not compared: ringrtd may run
    // on another host.
    [[nodiscard]] bool has_new_credential(const JobRecord &record, double delay_s,
                                          double now_s) const {
        return !leave_ || record.slurmctld_s >= leave_->slurmctld_s + delay_s ||
               now_s >= leave_->seen_s + delay_s;
    }
    // When the job was first seen pending after its last run; none: it is not pending.
    [[nodiscard]] std::optional<double> waits_since_s() const { return waits_since_s_; }

  private:
    // When the end of the last run was first seen. Slurm counts a restart when a requeue begins.
    struct Leave {
        double seen_s = 0;
        double slurmctld_s = 0;  // by slurmctld's clock, in whole seconds
        int restarts = 0;
    };

    void update_held(const JobRecord &record, Stage stage, double now_s);
    void note_leave(const JobRecord &record, double now_s);
    [[nodiscard]] bool are_nodes_up(const std::vector<NodeRecord> &nodes) const;

    std::vector<int> nodes_;        // of the present or the last run; empty: not known
    std::optional<double> seen_s_;  // when the job was last seen to hold them
    std::optional<double> up_since_s_, waits_since_s_;
    std::optional<Leave> leave_;
    bool nodes_up_ = false;  // as of the last update
    int restarts_ = 0;       // as of the last update
};

}  // namespace ringrt::controller
