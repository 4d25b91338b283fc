// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/plan.h"

#include <algorithm>
#include <map>

namespace ringrt::bucketing {
namespace {

// The bytes of one gradient that a phase has sent, as disjoint ranges [start, end) in a map.
class Ranges {
  public:
    // False, without any change, if a byte of the range is already present.
    bool add(uint64_t start, uint64_t end) {
        auto next = ranges_.lower_bound(start);
        if (next != ranges_.end() && next->first < end) return false;
        if (next != ranges_.begin() && std::prev(next)->second > start) return false;
        if (next != ranges_.end() && next->first == end) {
            end = next->second;
            next = ranges_.erase(next);
        }
        if (next != ranges_.begin() && std::prev(next)->second == start) {
            std::prev(next)->second = end;
        } else {
            ranges_.emplace(start, end);
        }
        return true;
    }

    [[nodiscard]] bool holds(uint64_t start, uint64_t end) const {
        auto next = ranges_.upper_bound(start);
        return next != ranges_.begin() && std::prev(next)->second >= end;
    }

  private:
    std::map<uint64_t, uint64_t> ranges_;
};

std::string at(size_t block, const Piece &piece) {
    return "block " + std::to_string(block) + ", gradient " + std::to_string(piece.gradient) +
           ", bytes " + std::to_string(piece.offset) + "+" + std::to_string(piece.bytes) + ": ";
}

struct Sent {
    std::vector<Ranges> reduced, gathered;

    std::optional<std::string> take(size_t number, Phase phase, const Piece &piece) {
        const uint64_t start = piece.offset, end = piece.offset + piece.bytes;
        if (phase != Phase::all_gather && !reduced[piece.gradient].add(start, end)) {
            return at(number, piece) + "reduced twice";
        }
        if (phase == Phase::reduce_scatter) return std::nullopt;
        if (!reduced[piece.gradient].holds(start, end)) {
            return at(number, piece) + "gathered before it was reduced";
        }
        if (!gathered[piece.gradient].add(start, end)) return at(number, piece) + "gathered twice";
        return std::nullopt;
    }
};

// Bytes of each gradient that a phase could send but has not.
struct Available {
    std::vector<uint64_t> to_reduce, bytes_to_gather;

    // The most urgent gradient that `phase` could send now, or the number of gradients.
    [[nodiscard]] size_t most_urgent(Phase phase, const Profile &profile,
                                     double ready_by_us) const {
        size_t id = 0;
        for (; id < to_reduce.size(); ++id) {
            const bool ready = profile.gradients[id].ready_us <= ready_by_us;
            if (phase == Phase::all_gather ? bytes_to_gather[id] > 0 : ready && to_reduce[id] > 0)
                break;
        }
        return id;
    }

    void take(const Block &block) {
        for (const Piece &piece : block.pieces) {
            if (block.phase != Phase::all_gather) to_reduce[piece.gradient] -= piece.bytes;
            if (block.phase == Phase::reduce_scatter)
                bytes_to_gather[piece.gradient] += piece.bytes;
            if (block.phase == Phase::all_gather) bytes_to_gather[piece.gradient] -= piece.bytes;
        }
    }
};

}  // namespace

uint64_t block_bytes(const Block &block) {
    uint64_t sum = 0;
    for (const Piece &piece : block.pieces) sum += piece.bytes;
    return sum;
}

Block whole_block(const Profile &profile, Phase phase, std::vector<uint32_t> ids) {
    Block block{.phase = phase};
    for (uint32_t id : ids) block.pieces.push_back({id, 0, profile.gradients[id].bytes});
    return block;
}

std::optional<std::string> fault_of(const Plan &plan, const Profile &profile) {
    const size_t count = profile.gradients.size();
    Sent sent{std::vector<Ranges>(count), std::vector<Ranges>(count)};
    for (size_t number = 0; number < plan.blocks.size(); ++number) {
        const Block &block = plan.blocks[number];
        if (block.pieces.empty()) return "block " + std::to_string(number) + " is empty";
        for (const Piece &piece : block.pieces) {
            if (piece.gradient >= count) return at(number, piece) + "there is no such gradient";
            const uint64_t size = profile.gradients[piece.gradient].bytes;
            if (piece.bytes == 0 || piece.bytes > size || piece.offset > size - piece.bytes) {
                return at(number, piece) + "outside the gradient's " + std::to_string(size);
            }
            if (auto fault = sent.take(number, block.phase, piece)) return fault;
        }
    }
    for (size_t id = 0; id < count; ++id) {
        const uint64_t bytes = profile.gradients[id].bytes;
        if (bytes > 0 && !sent.gathered[id].holds(0, bytes)) {
            return "gradient " + std::to_string(id) + " is not sent whole";
        }
    }
    return std::nullopt;
}

std::optional<std::string> priority_fault_of(const Plan &plan, const Profile &profile,
                                             const std::vector<double> &start_us,
                                             double tolerance_us) {
    Available available{{}, std::vector<uint64_t>(profile.gradients.size())};
    for (const Gradient &gradient : profile.gradients)
        available.to_reduce.push_back(gradient.bytes);
    for (size_t number = 0; number < plan.blocks.size(); ++number) {
        const Block &block = plan.blocks[number];
        available.take(block);
        // The remaining gradients must not be more urgent than any in the block.
        const size_t left =
            available.most_urgent(block.phase, profile, start_us[number] - tolerance_us);
        for (const Piece &piece : block.pieces) {
            if (piece.gradient > left) {
                return at(number, piece) + "goes before gradient " + std::to_string(left);
            }
        }
    }
    return std::nullopt;
}

}  // namespace ringrt::bucketing
