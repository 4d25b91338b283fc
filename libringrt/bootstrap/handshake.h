// SPDX-License-Identifier: BSD-3-Clause
// The handshake (hello.h) that opens every connection between ranks, and the acceptor that serves
// it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/hello.h"

namespace ringrt {

// The client's side, on a new connection to `peer`. RINGRT_PEER_LOST if it was rejected,
// RINGRT_TIMEOUT if the other side is silent for 10 s.
Status connect_handshake(int fd, const Secret &secret, Purpose purpose, const RankContext &self,
                         int peer);

// A listening socket that accepts ranks of this job and drops all other connections. Pending
// connections are bounded in number, memory (100 bytes each) and time (5 s each), and do not block
// ranks.
class Acceptor {
  public:
    Acceptor(Fd listener, const Secret &secret, Purpose purpose, const RankContext &self);
    ~Acceptor();

    struct Accepted {
        int rank = -1;
        Fd fd;
    };
    // Serves for up to `wait_ms` and appends the ranks that connected. A rank may appear twice (a
    // lost first connection).
    Status serve(int wait_ms, std::vector<Accepted> *arrivals);

  private:
    struct PendingConnection;
    void accept_waiting();
    void drop(size_t index, const char *why);
    // True while the connection may still become a rank; *rank is set once it is one.
    bool read_hello(PendingConnection *pending, int *rank);

    Fd listener_;
    const Side side_;
    const RankContext &self_;
    std::vector<PendingConnection> pending_;
    uint64_t dropped_ = 0;
    size_t pending_max_;
};

}  // namespace ringrt
