// SPDX-License-Identifier: BSD-3-Clause
// The header of each message between two ranks, and how a rank interprets it. Shared by the
// transports that send messages (tcp.cpp, host_callbacks.cpp).
#pragma once

#include <map>
#include <vector>

#include "libringrt/base/deadline.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

inline constexpr uint32_t kFrameMagic = 0x72674652;  // "RFgr"

enum FrameKind : uint32_t {
    kData = 1,
    kAbortNotice = 2,  // followed by an AbortNotice
    kWaiting = 3       // no payload: the sender is alive and waits for rank `segment`
};

struct Frame {
    uint32_t magic = kFrameMagic;
    uint32_t kind = kData;
    OpHeader call;
    uint32_t segment = 0, slot = 0;
    uint64_t bytes = 0;

    // Whether the kind exists and allows this length.
    [[nodiscard]] bool is_valid() const;
};

// Why a rank stops.
struct AbortNotice {
    int32_t failed_rank = -1;  // -1: none, the job is done
    int32_t code = 0;
    char line[248] = "";
};

[[nodiscard]] AbortNotice make_abort_notice(int failed_rank, const Status &why);
// Interprets the abort notice of rank `teller`; ok if that rank has finished normally.
[[nodiscard]] Status receive_abort_notice(const RankContext &self, int teller, AbortNotice said,
                                          const OpHeader &call);
[[nodiscard]] Status peer_lost(const RankContext &self, int rank, const char *why,
                               const OpHeader &call);

[[nodiscard]] Status other_size(const RankContext &self, int rank, uint64_t sent, size_t due,
                                const OpHeader &call);

// Removes the message that `frame` from `rank` belongs to from `expected`; *out stays null if it is
// not expected yet. RINGRT_MISMATCH if that rank makes another call than `mine`.
[[nodiscard]] Status match(const RankContext &self, const OpHeader &mine, int rank,
                           const Frame &frame, std::vector<Message *> *expected, Message **out);

// How often a rank that waits reports it to its peers: once a second in worlds of up to 511 ranks.
// With more the period grows with their number, so that the reports of all ranks do not become a
// load that makes them all wait longer. At most a quarter of the timeout.
[[nodiscard]] std::chrono::milliseconds report_period(const RankContext &self);

// Tracks which rank waits for which. A rank that waits for long reports to its peers, once in each
// report_period(), the silent rank at the end of the chain of waiting ranks, as far as it knows;
// each of them passes this on. When the deadline passes, every rank can then name that rank as
// failed, instead of the healthy rank that it waits for, even if it has no connection to the ranks
// in between.
class WaitChain {
  public:
    explicit WaitChain(const RankContext &self);
    void moved() { moved_ = Clock::now(); }
    // While nothing progresses: time to report to the peers that `blame` is waited for. That is
    // once in each period, and sooner if it is another rank than in the last report.
    [[nodiscard]] bool due(int blame);
    void heard(int rank, uint32_t waits_for);
    // The rank to blame if this one waits for `peer` (-1: none).
    [[nodiscard]] int blame(int peer) const;

  private:
    struct News {
        Clock::time_point when;
        int waits_for = -1;
    };
    const RankContext &self_;
    Clock::duration period_;
    Clock::time_point moved_ = Clock::now(), told_ = moved_;
    int told_blame_ = -1;
    std::map<int, News> news_;  // by rank, of this rank's peers
};

}  // namespace ringrt
