// SPDX-License-Identifier: BSD-3-Clause
// A plan defines which bytes are sent together, in which phase and in which order. All ranks follow
// the same plan: each block starts when the previous one is done and its gradients are ready.
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
    double not_before_us = 0;  // from the start of the backward pass, for rules with a clock
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

// Nothing if every byte is reduced once and then gathered once; otherwise one line with the fault.
// A plan from outside (a file, another rank) is used only if this finds no fault.
[[nodiscard]] std::optional<std::string> fault_of(const Plan &plan, const Profile &profile);

// Nothing if, in each phase, no block is sent before a more urgent gradient that could have
// replaced it for `tolerance_us`; otherwise one line. `start_us`: when each block starts
// (timeline.h). Only rules without a barrier guarantee this.
[[nodiscard]] std::optional<std::string> priority_fault_of(const Plan &plan, const Profile &profile,
                                                           const std::vector<double> &start_us,
                                                           double tolerance_us = 0);

}  // namespace ringrt::bucketing
