// SPDX-License-Identifier: BSD-3-Clause
// What goes before the bytes of a message between two ranks, and what a rank concludes from it.
// Shared by the transports that send messages (tcp.cpp, mpi.cpp).
#pragma once

#include <vector>

#include "libringrt/transport/patience.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

inline constexpr uint32_t kFrameMagic = 0x72674652;  // "RFgr"

enum FrameKind : uint32_t {
    kData = 1,
    kFarewell = 2,  // followed by a Farewell
    kWaiting = 3    // nothing follows: its sender lives, and waits for rank `segment`
};

struct Frame {
    uint32_t magic = kFrameMagic;
    uint32_t kind = kData;
    Call call;
    uint32_t segment = 0, slot = 0;
    uint64_t bytes = 0;

    // Of a kind that there is, and of a length that its kind allows.
    [[nodiscard]] bool sound() const;
};

// Why a rank goes.
struct Farewell {
    int32_t culprit = -1;  // -1: nobody, the job is done
    int32_t code = 0;
    char line[248] = "";
};

[[nodiscard]] Farewell make_farewell(int culprit, const Status &why);
// What `teller`'s farewell means to this rank; ok where it left in peace.
[[nodiscard]] Status hear_farewell(const World &world, int teller, Farewell said, const Call &call);
[[nodiscard]] Status peer_lost(const World &world, int rank, const char *why, const Call &call);

// Takes the message that `frame` from `rank` is for out of `expected`; *out stays null where it is
// not expected yet. RINGRT_MISMATCH where that rank calls something else than `mine`.
[[nodiscard]] Status match(const World &world, const Call &mine, int rank, const Frame &frame,
                           std::vector<Message *> *expected, Message **out);

// Who waits for whom. A rank that waits long tells all others for whom, again and again; so when
// time runs out everybody blames the rank at the end of the chain, which says nothing, and not the
// innocent one that it waits for itself.
class Waits {
  public:
    explicit Waits(const World &world);
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
    const World &world_;
    Clock::duration period_;
    Clock::time_point moved_ = Clock::now(), told_ = moved_;
    std::vector<News> news_;  // by rank
};

}  // namespace ringrt
