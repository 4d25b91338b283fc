// SPDX-License-Identifier: BSD-3-Clause
// A rank's input to the agreement at a step's end, and the result. PURE. It is 8 bytes, and the
// result is the largest value of each: so its cost does not depend on the number of ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace ringrt::job {

struct StepFlags {
    bool asked = false;    // some rank received the scheduler's signal
    bool ended = false;    // some rank received SIGTERM, and the job is not preempted
    bool written = false;  // every rank's part of a background save is on disk
    // Rank 0 decides:
    bool save_due = false;  // by its clock
    bool cut_off = false;   // it has no way to reach Slurm
};

class StepVote {
  public:
    StepVote() = default;
    StepVote(uint64_t step, const StepFlags &mine, bool leads) {
        bytes_[kAsked] = mine.asked;
        bytes_[kEnded] = mine.ended;
        bytes_[kUnwritten] = !mine.written;
        if (leads)
            bytes_[kLeader] = static_cast<uint8_t>(int{mine.save_due} | int{mine.cut_off} << 1);
        for (unsigned i = 0; i < kStepBytes; ++i) {
            const auto part = static_cast<uint8_t>(step >> (8 * i));
            bytes_[kStep + 2 * i] = part;
            bytes_[kStep + 2 * i + 1] = static_cast<uint8_t>(~part);
        }
    }

    [[nodiscard]] std::span<uint8_t> bytes() { return bytes_; }
    void add(const StepVote &other) {
        for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = std::max(bytes_[i], other.bytes_[i]);
    }
    // Whether all ranks are at one step, modulo 65536: the largest part and the largest complement
    // belong to one value.
    [[nodiscard]] bool is_of_one_step() const {
        for (unsigned i = 0; i < kStepBytes; ++i)
            if ((bytes_[kStep + 2 * i] ^ bytes_[kStep + 2 * i + 1]) != 0xff) return false;
        return true;
    }
    [[nodiscard]] StepFlags flags() const {
        return {.asked = bytes_[kAsked] != 0,
                .ended = bytes_[kEnded] != 0,
                .written = bytes_[kUnwritten] == 0,
                .save_due = (bytes_[kLeader] & 1) != 0,
                .cut_off = (bytes_[kLeader] & 2) != 0};
    }

  private:
    enum Byte : unsigned { kAsked, kEnded, kUnwritten, kLeader, kStep };
    static constexpr unsigned kStepBytes = 2;

    std::array<uint8_t, kStep + 2 * kStepBytes> bytes_{};
};
static_assert(sizeof(StepVote) == 8);

}  // namespace ringrt::job
