// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/breaker.h"

#include <algorithm>

namespace ringrt::controller {

bool Circuit::failed(uint32_t who, double now_s, int most, double pause_s) {
    failed_.insert(who);
    const bool opens = on_trial_ || static_cast<int>(failed_.size()) >= most;
    if (!opens || is_open(now_s)) return false;
    until_s_ = now_s + pause_s;
    on_trial_ = true;
    failed_.clear();
    return true;
}

void Circuit::succeeded() {
    failed_.clear();
    on_trial_ = false;
    until_s_ = 0;
}

int Circuit::in_flight_most(double now_s, int most) const {
    if (is_open(now_s)) return 0;
    return on_trial_ ? std::min(1, most) : most;
}

Breaker::Opened Breaker::failed(uint32_t user_id, uint32_t job_id, double now_s, int most,
                                double pause_s) {
    if (of_user_.size() >= kUsersMost) of_user_.clear();
    const bool opens = of_user_[user_id].failed(job_id, now_s, most, pause_s);
    if (all_.failed(user_id, now_s, most, pause_s)) return Opened::all;
    return opens ? Opened::user : Opened::none;
}

void Breaker::succeeded(uint32_t user_id) {
    all_.succeeded();
    of_user_.erase(user_id);
}

const Circuit &Breaker::of(uint32_t user_id) const {
    static const Circuit closed;
    const auto found = of_user_.find(user_id);
    return found == of_user_.end() ? closed : found->second;
}

}  // namespace ringrt::controller
