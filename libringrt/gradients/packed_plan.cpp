// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/packed_plan.h"

namespace ringrt {

using namespace bucketing;

namespace {
constexpr uint64_t kMostUs = 1'000'000'000'000;  // kMaxTimeUs
}

std::vector<uint64_t> packed(const Plan &plan) {
    std::vector<uint64_t> words = {plan.barrier, plan.blocks.size()};
    for (const Block &block : plan.blocks) {
        words.push_back(static_cast<uint64_t>(block.phase));
        words.push_back(static_cast<uint64_t>(block.not_before_us));
        words.push_back(block.pieces.size());
        for (const Piece &piece : block.pieces) {
            words.insert(words.end(), {piece.gradient, piece.offset, piece.bytes});
        }
    }
    return words;
}

std::optional<Plan> unpacked(std::span<const uint64_t> words) {
    if (words.size() < 2 || words[0] > 1) return std::nullopt;
    Plan plan{.blocks = {}, .barrier = words[0] == 1};
    const uint64_t blocks = words[1];
    words = words.subspan(2);
    for (uint64_t b = 0; b < blocks; ++b) {
        if (words.size() < 3 || words[0] > 2 || words[1] > kMostUs ||
            words[2] > (words.size() - 3) / 3) {
            return std::nullopt;
        }
        Block block{.phase = static_cast<Phase>(words[0]),
                    .not_before_us = static_cast<double>(words[1])};
        const uint64_t pieces = words[2];
        words = words.subspan(3);
        for (uint64_t p = 0; p < pieces; ++p, words = words.subspan(3)) {
            if (words[0] > UINT32_MAX) return std::nullopt;
            block.pieces.push_back({static_cast<uint32_t>(words[0]), words[1], words[2]});
        }
        plan.blocks.push_back(std::move(block));
    }
    if (!words.empty()) return std::nullopt;
    return plan;
}

}  // namespace ringrt
