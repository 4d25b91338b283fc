// SPDX-License-Identifier: BSD-3-Clause
// The header in front of each message between two ranks, and what a rank concludes from it. Shared
// by the transports that send messages (tcp.cpp, host_callbacks.cpp).
#pragma once

#include <vector>

#include "libringrt/base/deadline.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

inline constexpr uint32_t kFrameMagic = 0x72674652;  // "RFgr"

enum FrameKind : uint32_t {
    kData = 1,
    kAbortNotice = 2,  // followed by a AbortNotice
    kWaiting = 3       // nothing follows: its sender lives, and waits for rank `segment`
};

struct Frame {
    uint32_t magic = kFrameMagic;
    uint32_t kind = kData;
    OpHeader call;
    uint32_t segment = 0, slot = 0;
    uint64_t bytes = 0;

    // Of a kind that there is, and of a length that its kind allows.
    [[nodiscard]] bool sound() const;
};

// Why a rank goes.
struct AbortNotice {
    int32_t failed_rank = -1;  // -1: nobody, the job is done
    int32_t code = 0;
    char line[248] = "";
};

[[nodiscard]] AbortNotice make_abort_notice(int failed_rank, const Status &why);
// What `teller`'s abort notice means to this rank; ok where it left in peace.
[[nodiscard]] Status receive_abort_notice(const RankContext &self, int teller, AbortNotice said,
                                          const OpHeader &call);
[[nodiscard]] Status peer_lost(const RankContext &self, int rank, const char *why,
                               const OpHeader &call);

[[nodiscard]] Status other_size(const RankContext &self, int rank, uint64_t sent, size_t due,
                                const OpHeader &call);

// Takes the message that `frame` from `rank` is for out of `expected`; *out stays null where it is
// not expected yet. RINGRT_MISMATCH where that rank calls something else than `mine`.
[[nodiscard]] Status match(const RankContext &self, const OpHeader &mine, int rank,
                           const Frame &frame, std::vector<Message *> *expected, Message **out);

// Which rank waits for which. A rank that waits long tells all others which rank it waits for,
// about once a second. When the deadline passes, every rank then names the silent rank at the end
// of the chain as failed, and not the healthy one that it waits for itself.
class WaitChain {
  public:
    explicit WaitChain(const RankContext &self);
    void moved() { moved_ = Clock::now(); }
    // True about once a second while nothing has moved: time to tell the others.
    [[nodiscard]] bool due();
    void heard(int rank, uint32_t waits_for);
    // The rank to blame where this one waits for `peer` (-1: nobody).
    [[nodiscard]] int blame(int peer) const;

  private:
    struct News {
        Clock::time_point when;
        int waits_for = -1;
    };
    const RankContext &self_;
    Clock::duration period_;
    Clock::time_point moved_ = Clock::now(), told_ = moved_;
    std::vector<News> news_;  // by rank
};

}  // namespace ringrt
