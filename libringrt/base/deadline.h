// SPDX-License-Identifier: BSD-3-Clause
// Limits on waits for peers: when to warn and when to fail.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libringrt/base/clock.h"
#include "libringrt/base/status.h"

namespace ringrt {

// Shared by all parts of one rank's runtime; owned by the Communicator.
struct RankContext {
    int rank = 0, size = 1;
    std::vector<std::string> hosts;
    std::vector<uint16_t> host_of_rank;  // by rank, in `hosts`; empty until start-up has found them
    std::atomic<bool> aborted{false};
    std::atomic<uint32_t> timeout_ms{600000};
    std::function<void(const std::string &)> warn;
    // If set and true, no rank calls this communicator any more, as all have agreed: its end needs
    // no reason, and waits for no rank.
    std::shared_ptr<const std::atomic<bool>> retired;
    [[nodiscard]] bool is_retired() const { return retired && *retired; }
    // For tests: called wherever this rank could die within an operation (before it sends a
    // message, after it receives one, before it arrives at a gate of the node).
    std::function<void()> fault_point;
    void pass_fault_point() const {
        if (fault_point) fault_point();
    }

    // "rank 3 on node17"; without the host if it is unknown.
    [[nodiscard]] std::string name_of(int peer) const;
};

// Longest sleep between checks, which bounds every wake-up. After a long wait, and among thousands
// of ranks, it is longer: many ranks on a few cores that wake often would be a load.
inline constexpr int kSliceMs = 50, kLongSliceMs = 250;

// One wait for peers within one phase of one operation. Not for the fast path: create it after a
// spin has failed. Time in which this process itself was stopped does not count: Slurm suspends all
// ranks of a job together, so they could not answer.
class Deadline {
  public:
    Deadline(const RankContext &self, const char *phase, uint32_t timeout_ms);
    Deadline(const RankContext &self, const char *phase) : Deadline(self, phase, self.timeout_ms) {}

    // How long to sleep until the next check: an eighth of the wait, or a sixteenth of a
    // millisecond for each rank, between kSliceMs and kLongSliceMs.
    [[nodiscard]] int slice_ms() const {
        return int(std::clamp<int64_t>(std::max<int64_t>(waited_ms() / 8, self_.size / 16),
                                       kSliceMs, kLongSliceMs));
    }
    // Call it at least every slice_ms() while `peer` (-1: no particular one) is silent. Warns after
    // a few seconds; fails if aborted or timed out.
    Status check(int peer);
    // After progress: restarts the timeout.
    void refresh() { start_ = looked_ = Clock::now(), next_warning_ms_ = kFirstWarningMs; }
    [[nodiscard]] int64_t waited_ms() const;
    [[nodiscard]] int64_t left_ms() const {
        return std::max(timeout_ms_ - waited_ms(), int64_t{0});
    }
    [[nodiscard]] const char *phase() const { return phase_; }

  private:
    static constexpr int64_t kFirstWarningMs = 3000;
    // Between two checks: much longer than a slice, even on a busy machine.
    static constexpr std::chrono::seconds kStopped{2};
    const RankContext &self_;
    const char *phase_;
    int64_t timeout_ms_;
    Clock::time_point start_ = Clock::now(), looked_ = start_;
    int64_t next_warning_ms_ = kFirstWarningMs;
};

}  // namespace ringrt
