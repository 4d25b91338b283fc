// SPDX-License-Identifier: BSD-3-Clause
// What a rank hears of the scheduler, and by which way rank 0 can answer it: the channel and a
// signal, or a signal and scontrol.
#pragma once

#include <memory>
#include <string>

#include "libringrt/job/channel.h"
#include "libringrt/job/settings.h"
#include "libringrt/job/signal_watch.h"

namespace ringrt::job {

class SlurmLink {
  public:
    // Only rank 0 of a Slurm job opens the channel; `why_not` where it is named and not there.
    Status start(const Settings &settings, bool leads, std::string &why_not);

    // Requests to leave so far. Under proctrack/cgroup a signal comes to the tasks alone, so that a
    // rank below a script hears of it over the channel.
    [[nodiscard]] uint32_t requests() const;
    // Rank 0 of a job has no way to ask Slurm for its requeue.
    [[nodiscard]] bool is_cut_off() const;
    [[nodiscard]] Channel *channel() const { return channel_.get(); }

    // SIGTERM is the end, or the beginning of the GraceTime of a job that Slurm preempts. Where
    // there is a channel it tells which, by a request to leave in the latter case; until then
    // training goes on. For a program that calls ringrt_step(), where the answer is acted on.
    Status catch_sigterm();
    [[nodiscard]] bool is_told_of_preemption() const { return is_told_of_preemption_; }
    [[nodiscard]] bool has_sigterm() const { return sigterm_.count() != sigterms_served_; }
    // SIGTERM was the end: Slurm says so, or nothing for a while. Of a rank other than 0 the latter
    // alone.
    [[nodiscard]] bool is_ended(double now_s);
    // What SIGTERM does without us: the process ends here, unless the program has a handler.
    void end_by_sigterm();
    void forget_sigterm();

  private:
    SignalCounter signals_;
    SignalCounter sigterm_;
    bool is_told_of_preemption_ = false, catches_sigterm_ = false;
    uint32_t sigterms_served_ = 0, ends_served_ = 0;
    double sigterm_s_ = -1;  // when one was first seen that is not served; −1: there is none
    std::unique_ptr<Channel> channel_;
    bool needs_channel_ = false;
};

}  // namespace ringrt::job
