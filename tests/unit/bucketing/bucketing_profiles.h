// SPDX-License-Identifier: BSD-3-Clause
// Profiles for grouping tests, generated from a seed: some like real networks, some unlike any.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "libringrt/bucketing/profile.h"

namespace ringrt::test {

inline double uniform(std::mt19937 &random, double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
}

inline double log_uniform(std::mt19937 &random, double low, double high) {
    return std::exp(uniform(random, std::log(low), std::log(high)));
}

// Consecutive layers of one kind, ready in falling order: a convolutional network's growing layers
// with a large one at the end (`tail_bytes`), or a transformer's equal layers with a large one at
// the start.
inline bucketing::Profile layered(size_t layers, double total_bytes, double backward_us,
                                  double growth, double head_share, double tail_share) {
    bucketing::Profile profile;
    double weights = 0;
    for (size_t i = 0; i < layers; ++i) weights += std::pow(growth, static_cast<double>(i));
    const double body = total_bytes * (1 - head_share - tail_share);
    for (size_t i = 0; i < layers; ++i) {
        double bytes = body * std::pow(growth, static_cast<double>(i)) / weights;
        if (i == 0) bytes += total_bytes * head_share;
        if (i + 1 == layers) bytes += total_bytes * tail_share;
        const double position = static_cast<double>(layers - i) / static_cast<double>(layers);
        profile.gradients.push_back({"layer" + std::to_string(i),
                                     std::max<uint64_t>(4, static_cast<uint64_t>(bytes) / 4 * 4),
                                     backward_us / 2 / static_cast<double>(layers),
                                     backward_us * position});
    }
    return profile;
}

// Any bytes (some 0) and any times. Readiness is falling, shuffled locally, or arbitrary.
inline bucketing::Profile anything(std::mt19937 &random) {
    bucketing::Profile profile;
    const size_t count = 1 + random() % 60;
    const double span_us = log_uniform(random, 10, 1e6);
    const double scale = log_uniform(random, 10, 1e9);
    const auto disorder = random() % 3;
    for (size_t i = 0; i < count; ++i) {
        const double falling =
            span_us * static_cast<double>(count - i) / static_cast<double>(count);
        const double ready = disorder == 0   ? falling
                             : disorder == 1 ? falling * uniform(random, 0.9, 1.0)
                                             : uniform(random, 0, span_us);
        const bool empty = random() % 8 == 0;
        const double bytes = log_uniform(random, 1, scale);
        profile.gradients.push_back({"", empty ? 0 : 1 + static_cast<uint64_t>(bytes),
                                     uniform(random, 0, span_us / static_cast<double>(count)),
                                     ready});
    }
    return profile;
}

}  // namespace ringrt::test
