// SPDX-License-Identifier: BSD-3-Clause
// SharedPlaces: the memory that the ranks of one node share, as a schedule sees it. Each segment of
// an operation has a stage per rank of the node, one place for the results, and two gates. A gate
// opens when all ranks of the node have arrived:
//   staged   all have entered the segment, and their stages hold what others read; so no rank still
//            reads the results of the segment that used these places before
//   shown    all have read the stages, and the results hold what others read
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
    // Segments must arrive in order.
    virtual void arrive(Gate gate, size_t segment) = 0;
    [[nodiscard]] virtual bool is_open(Gate gate, size_t segment) const = 0;
    // Called after the gate was seen open; checks that all ranks make the same call.
    virtual Status pass(Gate gate, size_t segment) = 0;
    // Sleeps until the gate opens, for at most sleep_ms.
    virtual void sleep(Gate gate, size_t segment, int sleep_ms) = 0;
    [[nodiscard]] virtual int waiting_for(Gate gate, size_t segment) const = 0;  // returns a rank
    // Shows the node's other ranks whom this one blames while it waits, and reads whom `rank`
    // blames.
    virtual void tell_waiting(int blame) = 0;
    [[nodiscard]] virtual int blame(int rank) const = 0;
    virtual Status check_peers() const = 0;
};

}  // namespace ringrt
