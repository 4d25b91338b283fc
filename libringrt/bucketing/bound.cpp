// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/bound.h"

#include <algorithm>

#include "libringrt/bucketing/id_set.h"

namespace ringrt::bucketing {

Bound bound_of(const Profile &profile, const Network &network) {
    const std::vector<uint32_t> order = ready_order(profile);
    const std::vector<double> tail = forward_left_us(profile);
    const double us_per_byte = network.phases_held() * network.us_per_byte();
    std::vector<double> left_us(profile.gradients.size());
    IdSet ready(profile.gradients.size());
    double now = 0, transfers_end = 0;
    for (size_t next = 0; next < order.size() || !ready.empty();) {
        if (ready.empty()) now = std::max(now, profile.gradients[order[next]].ready_us);
        for (; next < order.size() && profile.gradients[order[next]].ready_us <= now; ++next) {
            const uint32_t id = order[next];
            left_us[id] = static_cast<double>(profile.gradients[id].bytes) * us_per_byte;
            ready.insert(id);
        }
        const uint32_t urgent = ready.lowest();
        const double done = now + left_us[urgent];
        const double pause = next < order.size() ? profile.gradients[order[next]].ready_us : done;
        if (done <= pause || next == order.size()) {
            now = done;
            transfers_end = std::max(transfers_end, done + tail[urgent]);
            ready.erase(urgent);
        } else {
            left_us[urgent] -= pause - now;
            now = pause;
        }
    }
    const double compute = backward_us(profile) + forward_us(profile);
    const double alpha = order.empty() ? 0 : 2 * network.phase_alpha_us();
    return {std::max(compute, transfers_end), std::max(compute, transfers_end + alpha)};
}

}  // namespace ringrt::bucketing
