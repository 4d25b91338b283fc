// SPDX-License-Identifier: BSD-3-Clause
// The handshake (hello.h) that opens every connection between ranks, and the acceptor it is done
// at.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/hello.h"

namespace ringrt {

// The client's side, on a fresh connection to `peer`. RINGRT_PEER_LOST where it was refused,
// RINGRT_TIMEOUT where whatever listens there says nothing for 10 s.
Status connect_handshake(int fd, const Secret &secret, Purpose purpose, const RankContext &self,
                         int peer);

// A listening socket that lets in ranks of this job and drops everybody else: bounded in number, in
// memory (100 bytes each) and in time (5 s each), without holding up anybody.
class Acceptor {
  public:
    Acceptor(Fd listener, const Secret &secret, Purpose purpose, const RankContext &self);
    ~Acceptor();

    struct Accepted {
        int rank = -1;
        Fd fd;
    };
    // Serves for up to `wait_ms`; appends who came. Ranks may come twice (a lost first connection).
    Status serve(int wait_ms, std::vector<Accepted> *arrivals);

  private:
    struct PendingConnection;
    void accept_waiting();
    void drop(size_t index, const char *why);
    // True while the pending may still become a rank; *rank is set once it is one.
    bool hear(PendingConnection *pending, int *rank);

    Fd listener_;
    const Side side_;
    const RankContext &self_;
    std::vector<PendingConnection> pending_;
    uint64_t dropped_ = 0;
    size_t pending_max_;
};

}  // namespace ringrt
