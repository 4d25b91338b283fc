// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/slurm_link.h"

#include "libringrt/job/requeue.h"

namespace ringrt::job {

namespace {

constexpr double kPreemptionQueryTimeout_s =
    15;  // the channel's service asks slurmctld, for at most 10 s

}  // namespace

Status SlurmLink::start(const Settings &settings, bool leads, std::string &why_not) {
    if (Status started = signals_.start(settings.signal); !started.ok()) return started;
    detects_preemption_ = settings.job != 0 && !settings.channel.empty();
    if (!leads || settings.job == 0) return {};
    needs_channel_ = !can_be_run(settings.scontrol);
    if (settings.channel.empty()) return {};
    channel_ = Channel::open(settings.channel);
    if (!channel_)
        why_not = format_text("no channel to Slurm at %.80s: using signals and %s instead",
                              settings.channel.c_str(), settings.scontrol.c_str());
    return {};
}

uint32_t SlurmLink::requests() const {
    return signals_.count() + (channel_ ? channel_->asked() : 0);
}

Status SlurmLink::catch_sigterm() {
    if (!detects_preemption_ || catches_sigterm_) return {};
    catches_sigterm_ = true;
    return sigterm_.start(SIGTERM);
}

bool SlurmLink::is_ended(double now_s) {
    if (!has_sigterm()) return false;
    if (sigterm_s_ < 0) sigterm_s_ = now_s;
    const bool told = channel_ && channel_->ended() != ends_served_;
    return told || now_s - sigterm_s_ > kPreemptionQueryTimeout_s;
}

void SlurmLink::end_by_sigterm() {
    forget_sigterm();
    sigterm_.pass_on();
}

void SlurmLink::forget_sigterm() {
    sigterms_served_ = sigterm_.count();
    ends_served_ = channel_ ? channel_->ended() : 0;
    sigterm_s_ = -1;
}

bool SlurmLink::is_cut_off() const { return needs_channel_ && !(channel_ && channel_->is_there()); }

}  // namespace ringrt::job
