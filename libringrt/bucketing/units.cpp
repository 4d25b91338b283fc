// SPDX-License-Identifier: BSD-3-Clause
// Coarsens gradients to at most kMaxUnits units.
#include <algorithm>
#include <numeric>

#include "libringrt/bucketing/slots.h"

namespace ringrt::bucketing {
namespace {

// Joins adjacent gradients whose ready times and times of need lie within `grain_us`.
std::vector<Unit> join_within(const Profile &profile, const std::vector<double> &tail,
                              double grain_us) {
    std::vector<Unit> units;
    double earliest = 0, latest = 0;
    for (uint32_t i = 0; i < profile.gradients.size(); ++i) {
        const Gradient &gradient = profile.gradients[i];
        if (gradient.bytes == 0) continue;
        const double low = std::min(earliest, gradient.ready_us);
        const double high = std::max(latest, gradient.ready_us);
        const bool joins =
            !units.empty() && high - low <= grain_us && units.back().tail_us - tail[i] <= grain_us;
        if (!joins) {
            units.push_back({i, i, 0, 0, tail[i]});
            earliest = latest = gradient.ready_us;
        } else {
            earliest = low;
            latest = high;
        }
        Unit &unit = units.back();
        unit.last = i;
        unit.bytes += static_cast<double>(gradient.bytes);
        unit.ready_us = latest;
    }
    return units;
}

}  // namespace

Units coarsen(const Profile &profile) {
    Units out;
    out.compute_us = backward_us(profile) + forward_us(profile);
    const std::vector<double> tail = forward_left_us(profile);
    // Random ready times can make every gradient its own unit; then the grain grows until they fit.
    for (double grain_us = out.compute_us / 1024;; grain_us *= 2) {
        out.units = join_within(profile, tail, grain_us);
        out.grain_us = grain_us;
        if (out.units.size() <= kMaxUnits) break;
        if (grain_us == 0) grain_us = 1;
    }
    for (const Unit &unit : out.units) out.bytes += unit.bytes;
    out.by_ready.resize(out.units.size());
    std::iota(out.by_ready.rbegin(), out.by_ready.rend(), 0U);
    std::ranges::stable_sort(out.by_ready, {},
                             [&](uint32_t unit) { return out.units[unit].ready_us; });
    return out;
}

}  // namespace ringrt::bucketing
