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

// For a process at an address that may be of an earlier run, and not answer.
inline constexpr std::chrono::milliseconds kHandshakeWithin(10'000);

// The client's side, on a new connection to `peer`. RINGRT_PEER_LOST if it was rejected,
// RINGRT_TIMEOUT if the other side is silent for `within`.
Status connect_handshake(int fd, const Secret &secret, Purpose purpose, const RankContext &self,
                         int peer, std::chrono::milliseconds within = kHandshakeWithin);

// A listening socket that accepts ranks of this job and drops all other connections. Pending
// connections are bounded in number (the oldest are dropped), memory (100 bytes each) and time, and
// do not block ranks. The time is long, because a rank may be slow to send its hello: with
// thousands of ranks on a few cores it waits for a core for several seconds.
class Acceptor {
  public:
    enum class Admission : uint8_t {
        accepted,
        refused,  // it sees a closed connection
        comes,    // it gets the answer that this rank's own connection is on its way
    };
    using Admits = std::function<Admission(int rank)>;
    static constexpr std::chrono::milliseconds kHelloWithin{60'000};
    // `admits` decides about a rank of this job; without it, all are accepted.
    Acceptor(Fd listener, const Secret &secret, Purpose purpose, const RankContext &self,
             Admits admits = {}, std::chrono::milliseconds hello_within = kHelloWithin);
    ~Acceptor();

    struct Accepted {
        int rank = -1;
        Fd fd;
        bool comes = false;  // got this answer: the connection is open, but not the one to use
    };
    // Serves for up to `wait_ms` and appends the ranks that connected, in the order in which they
    // did. A rank may appear twice (a lost first connection).
    Status serve(int wait_ms, std::vector<Accepted> *arrivals);
    [[nodiscard]] int listener() const { return listener_.get(); }
    void add_to(std::vector<pollfd> *polled) const;

  private:
    struct PendingConnection;
    void accept_waiting();
    void drop(size_t index, const char *why);
    enum class Heard : uint8_t { part, rank, comes, refused, stranger };
    Heard read_hello(PendingConnection *pending, int *rank);
    Heard answer(const PendingConnection &pending, int rank) const;

    Fd listener_;
    const Side side_;
    const RankContext &self_;
    const Admits admits_;
    const std::chrono::milliseconds hello_within_;
    std::vector<PendingConnection> pending_;
    uint64_t dropped_ = 0;
    size_t pending_max_;
};

}  // namespace ringrt
