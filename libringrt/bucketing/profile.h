// SPDX-License-Identifier: BSD-3-Clause
// The gradients of one training step: what is to be sent, when it is ready and when it is needed.
//
// Gradient 0 belongs to the layer nearest the input: the forward pass needs it first, so it has the
// highest priority. The backward pass produces it last, usually but not necessarily.
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
    std::vector<Gradient> gradients{};  // in the order in which the forward pass uses them
};

inline constexpr size_t kMaxGradients = 100'000;
inline constexpr uint64_t kMaxGradientBytes = uint64_t{1} << 50;
inline constexpr double kMaxTimeUs = 1e12;  // 11 days

[[nodiscard]] double backward_us(const Profile &profile);  // the last gradient is ready
[[nodiscard]] double forward_us(const Profile &profile);
[[nodiscard]] uint64_t total_bytes(const Profile &profile);

// For each gradient the forward time from its layer on: how much of the pass waits for it.
[[nodiscard]] std::vector<double> forward_left_us(const Profile &profile);

// The ids of all gradients with bytes, in the order in which they become ready; ties by id,
// falling, as a backward pass would.
[[nodiscard]] std::vector<uint32_t> ready_order(const Profile &profile);

// Reads a CSV with a header line that names at least grad_bytes and fwd_us, and ready_us or bwd_us
// (then gradients are ready in falling order); idx and name are optional, other columns are
// ignored. The text is taken as hostile. Returns nothing and one line with the line number in
// `error` where it is not such a file; `error` is unchanged on success. Where the first row has
// neither gradient nor backward time it is the input, whose forward time holds the loading of data:
// it is cut to the longest of the others.
[[nodiscard]] std::optional<Profile> parse_profile(std::string_view text, std::string &error);

// The same file, as parse_profile reads it.
[[nodiscard]] std::string format_profile(const Profile &profile);

}  // namespace ringrt::bucketing
