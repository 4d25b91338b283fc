// SPDX-License-Identifier: BSD-3-Clause
// A plan says which bytes go together, in which phase and in which order. All ranks follow the same
// plan: each block starts when the one before it is done and the gradients it reduces are ready.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt::bucketing {

enum class Phase : uint8_t { allreduce, reduce_scatter, all_gather };

struct Piece {
    uint32_t gradient = 0;
    uint64_t offset = 0;  // bytes
    uint64_t bytes = 0;

    bool operator==(const Piece &) const = default;
};

struct Block {
    Phase phase = Phase::allreduce;
    double not_before_us =
        0;  // from the start of the backward pass, for rules with a clock of their own
    std::vector<Piece> pieces{};

    bool operator==(const Block &) const = default;
};

struct Plan {
    std::vector<Block> blocks{};
    bool barrier = false;  // the forward pass starts only when every block is done

    bool operator==(const Plan &) const = default;
};

[[nodiscard]] uint64_t block_bytes(const Block &block);

// A block of whole gradients.
[[nodiscard]] Block whole_block(const Profile &profile, Phase phase, std::vector<uint32_t> ids);

// Nothing where every byte is reduced once and afterwards gathered once; else one line that says
// what is wrong. A plan from outside (a file, another rank) is only used when this found nothing.
[[nodiscard]] std::optional<std::string> fault_of(const Plan &plan, const Profile &profile);

// Nothing where, in each phase, no block goes before a more urgent gradient that could have gone in
// its place for `tolerance_us` already; else one line. `start_us` is when each block starts
// (timeline.h). Only rules without a barrier promise that.
[[nodiscard]] std::optional<std::string> priority_fault_of(const Plan &plan, const Profile &profile,
                                                           const std::vector<double> &start_us,
                                                           double tolerance_us = 0);

}  // namespace ringrt::bucketing
