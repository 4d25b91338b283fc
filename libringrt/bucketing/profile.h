// SPDX-License-Identifier: BSD-3-Clause
// The gradients of one training step: size, time of readiness and time of need.
//
// Gradient 0 belongs to the layer nearest the input: the forward pass needs it first, so it has the
// highest priority. The backward pass usually, but not always, produces it last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::bucketing {

struct Gradient {
    std::string name{};
    uint64_t bytes = 0;     // 0: a layer without parameters, only its forward time counts
    double forward_us = 0;  // its layer's share of the next forward pass
    double ready_us = 0;    // from the start of the backward pass
};

struct Profile {
    std::string name{};
    std::vector<Gradient> gradients{};  // in the forward pass's order of use
};

inline constexpr size_t kMaxGradients = 100'000;
inline constexpr uint64_t kMaxGradientBytes = uint64_t{1} << 50;
inline constexpr double kMaxTimeUs = 1e12;  // 11 days

[[nodiscard]] double backward_us(const Profile &profile);  // when the last gradient is ready
[[nodiscard]] double forward_us(const Profile &profile);
[[nodiscard]] uint64_t total_bytes(const Profile &profile);

// For each gradient, the forward time from its layer on: the part of the pass that waits for it.
[[nodiscard]] std::vector<double> forward_left_us(const Profile &profile);

// The ids of all gradients with bytes, in the order in which they become ready; ties in falling
// order of id, as in a backward pass.
[[nodiscard]] std::vector<uint32_t> ready_order(const Profile &profile);

// Reads a CSV whose header names at least grad_bytes and fwd_us, and ready_us or bwd_us (with
// bwd_us, gradients become ready in falling order). idx and name are optional; other columns are
// ignored. The text is untrusted. On an error it returns nothing and sets `error` to one line with
// the line number; otherwise `error` is unchanged. A first row with neither gradient nor backward
// time is the input, whose forward time includes data loading: it is cut to the longest of the
// others.
[[nodiscard]] std::optional<Profile> parse_profile(std::string_view text, std::string &error);

// Writes the format that parse_profile() reads.
[[nodiscard]] std::string format_profile(const Profile &profile);

}  // namespace ringrt::bucketing
