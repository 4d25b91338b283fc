// SPDX-License-Identifier: BSD-3-Clause
// The connections of the TCP transport, made when two ranks first exchange a message.
//
// Both ranks may begin. A rank's data port stays open for as long as its communicator exists, and
// is served only while the rank is in an operation, so a connection may wait there unanswered; the
// operation's timeout limits that. If both have begun, the one that the higher rank has begun
// stays: once it has sent its hello, the higher rank refuses the lower one's, and answers that its
// own comes. The lower rank accepts the higher one's, and drops its own.
//
// Until then both keep the refused connection open, as a sign of life. It ends when the higher rank
// dies, gives up, or has ended its communicator; then the lower rank tries again. So a peer that
// has answered is only slow, and the operation's timeout limits how long it may be. A peer that
// does not answer, or refuses without this answer, has a few seconds (ConnectTimes).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "libringrt/base/connections.h"
#include "libringrt/bootstrap/handshake.h"

namespace ringrt {

// Tests use shorter times.
struct ConnectTimes {
    // Of tries that end early; a dead peer does not return, and fault F01 allows 10 s.
    std::chrono::milliseconds retry_for{5000};
    // Of tries without an answer from the peer's host. A network that is overloaded drops packets,
    // and the kernel repeats those that open a connection after 1, 3 and 7 s. Keep-alive gives an
    // open connection as long.
    std::chrono::milliseconds silent_for{20'000};
    std::chrono::milliseconds address_within{2000};                   // one address of the peer
    std::chrono::milliseconds pause{20};                              // before the next try
    std::chrono::milliseconds hello_within = Acceptor::kHelloWithin;  // of other ranks
};

class Connector : public Connections {
  public:
    using EndpointOf = std::function<Endpoint(int peer)>;
    // `listener` is the port of this rank's own endpoint.
    Connector(const RankContext &self, EndpointOf endpoint_of, Fd listener, const Secret &secret,
              const ConnectTimes &times = {});
    ~Connector() override;
    void want(int peer) override;
    [[nodiscard]] bool busy() const override { return !attempts_.empty(); }
    Status progress(std::vector<Made> *made) override;
    void add_to(std::vector<pollfd> *polled) const override;
    [[nodiscard]] int listener() const override { return acceptor_.listener(); }

  private:
    struct Attempt;
    enum class Outcome : uint8_t { waits, made, failed };
    [[nodiscard]] Acceptor::Admission admits(int rank) const;
    void take(Acceptor::Accepted arrival, std::vector<Made> *made);
    Outcome begin(Attempt *attempt);
    Outcome advance(int peer, Attempt *attempt);
    Outcome await_connection(Attempt *attempt);
    Outcome await_greeting(int peer, Attempt *attempt);
    Outcome await_answer(Attempt *attempt);
    Outcome await_arrival(Attempt *attempt);
    Outcome try_again(Attempt *attempt, const std::string &why, bool silent = false);
    Outcome next_address(Attempt *attempt, int error);

    const RankContext &self_;
    const EndpointOf endpoint_of_;
    const Secret secret_;
    const ConnectTimes times_;
    std::vector<bool> made_;  // by rank
    std::map<int, std::unique_ptr<Attempt>> attempts_;
    Acceptor acceptor_;
};

}  // namespace ringrt
