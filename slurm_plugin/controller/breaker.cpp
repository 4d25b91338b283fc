// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/breaker.h"

#include <algorithm>

namespace ringrt::controller {

bool Breaker::failed(uint32_t job_id, double now_s, int jobs_most, double pause_s) {
    failed_.insert(job_id);
    const bool opens = on_trial_ || static_cast<int>(failed_.size()) >= jobs_most;
    if (!opens || is_open(now_s)) return false;
    until_s_ = now_s + pause_s;
    on_trial_ = true;
    failed_.clear();
    return true;
}

void Breaker::succeeded() {
    failed_.clear();
    on_trial_ = false;
    until_s_ = 0;
}

int Breaker::in_flight_most(double now_s, int most) const {
    if (is_open(now_s)) return 0;
    return on_trial_ ? std::min(1, most) : most;
}

}  // namespace ringrt::controller
