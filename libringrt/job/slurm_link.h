// SPDX-License-Identifier: BSD-3-Clause
// What a rank receives from the scheduler, and how rank 0 can answer: the channel and a signal, or
// a signal and scontrol.
#pragma once

#include <memory>
#include <string>

#include "libringrt/job/channel.h"
#include "libringrt/job/settings.h"
#include "libringrt/job/signal_watch.h"

namespace ringrt::job {

class SlurmLink {
  public:
    // Only rank 0 of a Slurm job opens the channel. `why_not`: set if it is configured but not
    // there.
    Status start(const Settings &settings, bool leads, std::string &why_not);

    // Requests to leave so far. Under proctrack/cgroup, a signal reaches only the tasks, so a rank
    // below a script receives the request over the channel.
    [[nodiscard]] uint32_t requests() const;
    // On rank 0: the ranks that the job is asked to keep, without a requeue; 0: no order.
    [[nodiscard]] uint32_t ranks_to_keep() const { return channel_ ? channel_->keep() : 0; }
    // Whether this rank 0 has no way to ask Slurm for a requeue.
    [[nodiscard]] bool is_cut_off() const;
    [[nodiscard]] Channel *channel() const { return channel_.get(); }

    // SIGTERM means the job's end, or the start of the grace time of a job that Slurm preempts. The
    // channel distinguishes them: a preempted job gets a request to leave. Training continues until
    // that is known. For programs that call ringrt_step(), which acts on the answer.
    Status catch_sigterm();
    [[nodiscard]] bool detects_preemption() const { return detects_preemption_; }
    [[nodiscard]] bool has_sigterm() const { return sigterm_.count() != sigterms_served_; }
    // Whether SIGTERM was the end: Slurm confirms it over the channel, or reports nothing for a
    // while. Ranks other than 0 can only see the latter.
    [[nodiscard]] bool is_ended(double now_s);
    // Applies SIGTERM's default: the process ends here, unless the program has a handler.
    void end_by_sigterm();
    void forget_sigterm();

  private:
    SignalCounter signals_;
    SignalCounter sigterm_;
    bool detects_preemption_ = false, catches_sigterm_ = false;
    uint32_t sigterms_served_ = 0, ends_served_ = 0;
    double sigterm_s_ = -1;  // when an unserved SIGTERM was first seen; −1: none
    std::unique_ptr<Channel> channel_;
    bool needs_channel_ = false;
};

}  // namespace ringrt::job
