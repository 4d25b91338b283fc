// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/profile.h"

#include <algorithm>

namespace ringrt::bucketing {

double backward_us(const Profile &profile) {
    double last = 0;
    for (const Gradient &gradient : profile.gradients) last = std::max(last, gradient.ready_us);
    return last;
}

double forward_us(const Profile &profile) {
    double sum = 0;
    for (const Gradient &gradient : profile.gradients) sum += gradient.forward_us;
    return sum;
}

uint64_t total_bytes(const Profile &profile) {
    uint64_t sum = 0;
    for (const Gradient &gradient : profile.gradients) sum += gradient.bytes;
    return sum;
}

std::vector<double> forward_left_us(const Profile &profile) {
    std::vector<double> left(profile.gradients.size());
    double sum = 0;
    for (size_t i = left.size(); i-- > 0;) left[i] = sum += profile.gradients[i].forward_us;
    return left;
}

std::vector<uint32_t> ready_order(const Profile &profile) {
    std::vector<uint32_t> order;
    for (size_t i = profile.gradients.size(); i-- > 0;) {
        if (profile.gradients[i].bytes > 0) order.push_back(static_cast<uint32_t>(i));
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return profile.gradients[a].ready_us < profile.gradients[b].ready_us;
    });
    return order;
}

}  // namespace ringrt::bucketing
