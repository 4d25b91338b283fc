// SPDX-License-Identifier: BSD-3-Clause
// Profiles that are hard for a grouping rule: very uneven sizes, 1 byte next to 4 GB, thousands of
// tiny layers, forward and random order, no computation in one or both passes, stages.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/bucketing/bucketing_profiles.h"

namespace ringrt::test {

enum class Hard {
    uneven,
    one_byte_and_4_gb,
    many_tiny,
    forward_order,
    no_computation,
    no_forward,
    no_backward,
    random_order,
    one_giant,
    stages,
    one_slow_layer,
    one_byte_each,
    count
};

struct HardLayers {
    std::vector<uint64_t> bytes;
    std::vector<double> forward_us, backward_us;
    std::vector<uint32_t> order;  // of the backward pass
};

inline HardLayers uneven_layers(size_t layers, std::mt19937 &random) {
    HardLayers out;
    for (size_t i = 0; i < layers; ++i) {
        out.bytes.push_back(static_cast<uint64_t>(log_uniform(random, 4, 67e6)));
        out.forward_us.push_back(uniform(random, 0, 2000));
        out.backward_us.push_back(2 * out.forward_us.back());
    }
    out.order.resize(layers);
    std::iota(out.order.rbegin(), out.order.rend(), 0U);
    return out;
}

inline void make_hard(Hard kind, HardLayers &layers, std::mt19937 &random) {
    const size_t one = random() % layers.bytes.size();
    switch (kind) {
        case Hard::one_byte_and_4_gb:
            for (uint64_t &bytes : layers.bytes) {
                if (random() % 5 == 0) bytes = random() % 4 ? 1 : uint64_t{1} << 32;
            }
            break;
        case Hard::many_tiny:
            layers = uneven_layers(2000, random);
            for (uint64_t &bytes : layers.bytes) bytes = 1 + random() % 4096;
            for (double &us : layers.forward_us) us /= 33;
            for (double &us : layers.backward_us) us /= 33;
            break;
        case Hard::forward_order:
            std::ranges::sort(layers.order);
            break;
        case Hard::random_order:
            std::ranges::shuffle(layers.order, random);
            break;
        case Hard::one_giant:
            std::ranges::fill(layers.bytes, 4 << random() % 5);
            layers.bytes[one] = uint64_t{1} << (random() % 2 ? 32 : 28);
            break;
        case Hard::stages:
            for (double &us : layers.backward_us) us = random() % 5 ? 0 : 20000;
            break;
        case Hard::one_slow_layer:
            std::ranges::fill(layers.forward_us, 1);
            std::ranges::fill(layers.backward_us, 1);
            layers.forward_us[one] = layers.backward_us[random() % layers.bytes.size()] = 1e6;
            break;
        case Hard::one_byte_each:
            std::ranges::fill(layers.bytes, 1);
            break;
        default:
            break;
    }
    if (kind == Hard::no_computation || kind == Hard::no_forward) {
        std::ranges::fill(layers.forward_us, 0);
    }
    if (kind == Hard::no_computation || kind == Hard::no_backward) {
        std::ranges::fill(layers.backward_us, 0);
    }
}

// The same seed gives the same profile. seed modulo Hard::count is the kind.
inline bucketing::Profile hard(uint32_t seed) {
    std::mt19937 random(seed);
    constexpr size_t kLayers[] = {1, 2, 3, 5, 20, 60, 161, 400};
    HardLayers layers = uneven_layers(kLayers[random() % 8], random);
    make_hard(static_cast<Hard>(seed % static_cast<uint32_t>(Hard::count)), layers, random);
    bucketing::Profile profile{.name = "hard" + std::to_string(seed)};
    for (size_t i = 0; i < layers.bytes.size(); ++i) {
        profile.gradients.push_back({"", layers.bytes[i], layers.forward_us[i], 0});
    }
    double now = 0;
    for (uint32_t id : layers.order) {
        now += layers.backward_us[id];
        profile.gradients[id].ready_us = now;
    }
    return profile;
}

}  // namespace ringrt::test
