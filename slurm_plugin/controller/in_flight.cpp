// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/in_flight.h"

namespace ringrt::controller {

namespace {

Limit limit_of(int in_flight, const Circuit &circuit, int most, double now_s) {
    return {.in_flight = in_flight,
            .in_flight_most = circuit.in_flight_most(now_s, most),
            .paused_until_s = circuit.until_s()};
}

}  // namespace

void InFlight::add(uint32_t user_id, bool is_silent) {
    ++count_;
    silent_ += is_silent;
    ++by_user_[user_id];
}

Limit InFlight::of_all(const Breaker &breaker, int most, double now_s) const {
    const Circuit &circuit = breaker.all();
    return limit_of(circuit.is_on_trial() ? count_ : count_ - silent_, circuit, most, now_s);
}

Limit InFlight::of_user(uint32_t user_id, const Breaker &breaker, int most, double now_s) const {
    const auto found = by_user_.find(user_id);
    return limit_of(found == by_user_.end() ? 0 : found->second, breaker.of(user_id), most, now_s);
}

Limits limits_of(const std::vector<MalleableJob> &jobs, const InFlight &in_flight,
                 const Breaker &breaker, int most, double now_s) {
    Limits out{.all = in_flight.of_all(breaker, most, now_s)};
    for (const MalleableJob &job : jobs) {
        const uint32_t user = job.record->user_id;
        out.of_user.try_emplace(user, in_flight.of_user(user, breaker, most, now_s));
    }
    return out;
}

}  // namespace ringrt::controller
