// SPDX-License-Identifier: BSD-3-Clause
// The handshake (hello.h) that opens every connection between ranks, and the acceptor that serves
// it.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
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
    // `admits` may refuse a rank of this job, which then sees a closed connection.
    Acceptor(Fd listener, const Secret &secret, Purpose purpose, const RankContext &self,
             std::function<bool(int rank)> admits = {});
    ~Acceptor();

    struct Accepted {
        int rank = -1;
        Fd fd;
    };
    // Serves for up to `wait_ms` and appends the ranks that connected. A rank may appear twice (a
    // lost first connection).
    Status serve(int wait_ms, std::vector<Accepted> *arrivals);
    [[nodiscard]] int listener() const { return listener_.get(); }
    void add_to(std::vector<pollfd> *polled) const;

  private:
    struct PendingConnection;
    void accept_waiting();
    void drop(size_t index, const char *why);
    enum class Heard : uint8_t { part, rank, refused, stranger };
    Heard read_hello(PendingConnection *pending, int *rank);

    Fd listener_;
    const Side side_;
    const RankContext &self_;
    const std::function<bool(int rank)> admits_;
    std::vector<PendingConnection> pending_;
    uint64_t dropped_ = 0;
    size_t pending_max_;
};

}  // namespace ringrt
