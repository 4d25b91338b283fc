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

  private:
    SignalCounter signals_;
    std::unique_ptr<Channel> channel_;
    bool needs_channel_ = false;
};

}  // namespace ringrt::job
