// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/slurm_link.h"

#include "libringrt/job/requeue.h"

namespace ringrt::job {

Status SlurmLink::start(const Settings &settings, bool leads, std::string &why_not) {
    if (Status started = signals_.start(settings.signal); !started.ok()) return started;
    if (!leads || settings.job == 0) return {};
    needs_channel_ = !can_be_run(settings.scontrol);
    if (settings.channel.empty()) return {};
    channel_ = Channel::open(settings.channel);
    if (!channel_)
        why_not = format_text("no channel to Slurm at %.80s: signals and %s instead",
                              settings.channel.c_str(), settings.scontrol.c_str());
    return {};
}

uint32_t SlurmLink::requests() const {
    return signals_.count() + (channel_ ? channel_->asked() : 0);
}

bool SlurmLink::is_cut_off() const { return needs_channel_ && !(channel_ && channel_->is_there()); }

}  // namespace ringrt::job
