// SPDX-License-Identifier: BSD-3-Clause
// Run: the segments of one operation, each advanced through the schedule as far as it can go
// without waiting.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "libringrt/base/share.h"
#include "libringrt/schedule/executor.h"

namespace ringrt {

inline constexpr size_t kLineBytes = 64;  // alignment of each block of scratch and of a stage

// One operation. Each segment in progress has a lane.
class Run {
  public:
    Run(const Schedule &schedule, const Work &work, size_t segments, SharedPlaces *node);

    // One slot of the window: the state of one segment.
    struct Lane {
        bool active = false;
        size_t segment = 0, pc = 0;
        std::vector<Message> sends, receives;
        std::unique_ptr<std::byte[]> scratch;
    };
    Status enter(Lane *lane, size_t segment, Transport *transport);
    // Advances the segment as far as possible without waiting.
    Status advance(Lane *lane, Transport *transport, bool *moved);
    [[nodiscard]] bool finished(const Lane &lane) const;
    // Whether all ranks have read what the segment's places in the node's memory held before.
    [[nodiscard]] bool may_enter(size_t segment) const;
    // The gate that the lane's segment waits for, if any.
    [[nodiscard]] std::optional<Gate> gate_before(const Lane &lane) const;
    [[nodiscard]] static bool all_left(const Lane &lane);  // everything sent so far

  private:
    [[nodiscard]] Share block(size_t segment, int index) const;
    void resolve(const Lane &lane, const Ref &ref, std::vector<std::span<std::byte>> *out) const;
    // The address in scratch, and the first byte of a block within Input or Output.
    [[nodiscard]] std::byte *scratch_at(const Lane &lane, const Ref &ref, int index) const;
    [[nodiscard]] size_t first_byte(const Lane &lane, Place place, int index) const;
    // Calls use(data, bytes, passed) for each contiguous stretch of one block of one place.
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
    std::array<size_t, 2> arrived_{};  // segments, by Gate
};

}  // namespace ringrt
