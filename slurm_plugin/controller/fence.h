// SPDX-License-Identifier: BSD-3-Clause
// May processes of a job's last run still be alive? Then it must not start again beside them: its
// launch fails, the node drains ("Duplicate jobid"), and where the end of the old run is told after
// the start of the new one, the new one's srun crashes slurmctld (22.05).
//
// A run that was asked to leave, and left while the controller watched, on nodes that stayed up,
// has left everywhere. After any other run (a user's requeue, a lost node, a gap in the polls) the
// fence is up for kFence_s; it goes up anew when one of the run's nodes goes down or comes back.
#pragma once

#include <optional>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/stage.h"

namespace ringrt::controller {

inline constexpr double kFence_s = 20;  // KillWait's usual ten seconds, and some

class Fence {
  public:
    // In each pass. asked: the intent says that the job was asked to leave. gap_end_s: when the
    // controller began to watch again, after the last time in which it had not polled for a while.
    // was_watched: the controller before this one saw the job until now, and no node is lost.
    void update(const JobRecord &record, Stage stage, bool asked,
                const std::vector<NodeRecord> &nodes, double gap_end_s, double now_s,
                bool was_watched = false);

    // Unix time from which on nothing of the last run is alive; 0: the fence is down.
    [[nodiscard]] double clear_s() const { return up_since_s_ ? *up_since_s_ + kFence_s : 0; }
    [[nodiscard]] bool is_up() const { return up_since_s_.has_value(); }
    // The fence is up, and a node of the last run is down or not known: what lives there shows only
    // once it is back.
    [[nodiscard]] bool has_lost_node() const { return is_up() && !nodes_up_; }
    // slurmd refuses to launch a job, which then fails, with a credential that is not younger, in
    // whole seconds of slurmctld's clock, than the request to end the job. (It keeps the time of
    // the first such request of a run, also where slurmctld repeats it: cred_revoke().) That
    // request was older than the first answer that showed the job completing, so a launch in a
    // later second than that is safe. Where slurmctld does not tell the record anew, the same time
    // must have passed on our clock; the two are not compared, for ringrtd may run on another host.
    [[nodiscard]] bool has_new_credential(const JobRecord &record, double delay_s,
                                          double now_s) const {
        return !leave_ || record.told_s >= leave_->told_s + delay_s ||
               now_s >= leave_->seen_s + delay_s;
    }
    // When the job was first seen waiting since it last ran; none: it does not wait.
    [[nodiscard]] std::optional<double> waits_since_s() const { return waits_since_s_; }

  private:
    // When the last run was first seen to end. Slurm counts a restart as a requeue begins.
    struct Leave {
        double seen_s = 0;
        double told_s = 0;  // by slurmctld's clock, in whole seconds
        int restarts = 0;
    };

    void update_held(const JobRecord &record, Stage stage, double now_s);
    void note_leave(const JobRecord &record, double now_s);
    [[nodiscard]] bool are_nodes_up(const std::vector<NodeRecord> &nodes) const;

    std::vector<int> nodes_;        // of the present run, or the last one; empty: not known
    std::optional<double> seen_s_;  // last seen to hold them
    std::optional<double> up_since_s_, waits_since_s_;
    std::optional<Leave> leave_;
    bool nodes_up_ = false;  // as of the last update
    int restarts_ = 0;       // as of the last update
};

}  // namespace ringrt::controller
