// SPDX-License-Identifier: BSD-3-Clause
// Run: the segments of one operation, each as far in the schedule as it gets without waiting.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "libringrt/base/share.h"
#include "libringrt/schedule/executor.h"

namespace ringrt {

inline constexpr size_t kLineBytes = 64;  // each block of scratch, and of a stage, has its own

// One operation, whose segments are each in a lane while they are under way.
class Run {
  public:
    Run(const Schedule &schedule, const Work &work, size_t segments, SharedPlaces *node);

    // One place of the window: the state of one segment.
    struct Lane {
        bool active = false;
        size_t segment = 0, pc = 0;
        std::vector<Message> sends, receives;
        std::unique_ptr<std::byte[]> scratch;
    };
    Status enter(Lane *lane, size_t segment, Transport *transport);
    // As far as it goes without waiting.
    Status advance(Lane *lane, Transport *transport, bool *moved);
    [[nodiscard]] bool finished(const Lane &lane) const;
    // Nobody reads what the segment's places in the node's memory held before.
    [[nodiscard]] bool may_enter(size_t segment) const;
    // The lane's segment stands before a gate.
    [[nodiscard]] std::optional<Gate> gate_before(const Lane &lane) const;
    [[nodiscard]] static bool all_left(const Lane &lane);  // all that was sent so far

  private:
    [[nodiscard]] Share block(size_t segment, int index) const;
    void resolve(const Lane &lane, const Ref &ref, std::vector<std::span<std::byte>> *out) const;
    // Of a scratch place; and the first byte of a block within Input or Output.
    [[nodiscard]] std::byte *scratch_at(const Lane &lane, const Ref &ref, int index) const;
    [[nodiscard]] size_t first_byte(const Lane &lane, Place place, int index) const;
    // use(data, bytes, passed) for each stretch of one block of one place.
    template <class Use>
    void each_stretch(const Lane &lane, const Ref &ref, int index, Use use) const;
    [[nodiscard]] std::byte *at(const Lane &lane, const Ref &ref, int index) const;
    void run_reduce(const Lane &lane, const ReduceStep &step) const;
    void run_copy(const Lane &lane, const CopyStep &copy) const;
    bool arrive(const Lane &lane, Gate gate);

    const Schedule &schedule_;
    const Work &work_;
    size_t segments_;
    size_t block_elements_;  // of the largest block of a segment
    size_t row_bytes_, partial_row_bytes_, scratch_bytes_;
    SharedPlaces *node_;
    std::array<size_t, 2> arrived_{};  // by Gate: segments
};

}  // namespace ringrt
