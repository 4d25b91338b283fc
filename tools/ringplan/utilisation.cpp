// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/utilisation.h"

#include <algorithm>

namespace ringrt::ringplan {

using namespace bucketing;

namespace {

void add(const Span &span, double part_us, std::vector<double> &shares) {
    for (size_t i = 0; i < shares.size(); ++i) {
        const double from = std::max(span.start_us, static_cast<double>(i) * part_us);
        const double to = std::min(span.end_us, static_cast<double>(i + 1) * part_us);
        if (to > from) shares[i] += (to - from) / part_us;
    }
}

}  // namespace

Utilisation utilisation_of(const Profile &profile, const Timeline &timeline, size_t parts) {
    Utilisation out{std::vector<double>(parts), std::vector<double>(parts)};
    const double part_us = timeline.iteration_us / static_cast<double>(parts);
    if (part_us <= 0) return out;
    add({0, backward_us(profile)}, part_us, out.compute);
    for (const Span &layer : timeline.layers) add(layer, part_us, out.compute);
    for (const Span &block : timeline.blocks) add(block, part_us, out.link);
    return out;
}

}  // namespace ringrt::ringplan
