// SPDX-License-Identifier: BSD-3-Clause
// SharedPlaces: what the ranks of one node share, as a schedule sees it. Each segment of an
// operation has a stage per rank of the node, one place for results that all read, and two gates,
// which open when all ranks of the node have arrived:
//   staged   all have entered the segment, and what others read lies in their stages; so nobody
//            reads the results of the segment that had these places before
//   shown    all have read the stages, and what others read lies among the results
#pragma once

#include <cstddef>
#include <cstdint>

#include "libringrt/base/status.h"

namespace ringrt {

enum class Gate : uint8_t { Staged, Shown };

class SharedPlaces {
  public:
    virtual ~SharedPlaces() = default;
    [[nodiscard]] virtual size_t place_bytes() const = 0;  // of a stage, and of the results
    [[nodiscard]] virtual size_t segments_at_once() const = 0;
    [[nodiscard]] virtual std::byte *stage(int index, size_t segment) const = 0;
    [[nodiscard]] virtual std::byte *results(size_t segment) const = 0;
    // In the order of the segments.
    virtual void arrive(Gate gate, size_t segment) = 0;
    [[nodiscard]] virtual bool is_open(Gate gate, size_t segment) const = 0;
    // After it was seen open: do all make the same call?
    virtual Status pass(Gate gate, size_t segment) = 0;
    // Until it opens, for sleep_ms at most.
    virtual void sleep(Gate gate, size_t segment, int sleep_ms) = 0;
    [[nodiscard]] virtual int waiting_for(Gate gate, size_t segment) const = 0;  // a rank
    virtual Status check_peers() const = 0;
};

}  // namespace ringrt
