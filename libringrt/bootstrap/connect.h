// SPDX-License-Identifier: BSD-3-Clause
// The connections of the TCP transport, made when two ranks first exchange a message.
//
// Both ranks may begin. A rank's data port stays open for as long as its communicator exists, and
// is served only while the rank is in an operation, so a connection may wait there unanswered; the
// operation's timeout limits that. If both have begun, the one that the higher rank has begun
// stays: once it has sent its hello, the higher rank refuses the lower one's. The lower rank
// accepts the higher one's, and drops its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "libringrt/base/connections.h"
#include "libringrt/bootstrap/handshake.h"

namespace ringrt {

class Connector : public Connections {
  public:
    using EndpointOf = std::function<Endpoint(int peer)>;
    // `listener` is the port of this rank's own endpoint.
    Connector(const RankContext &self, EndpointOf endpoint_of, Fd listener, const Secret &secret);
    ~Connector() override;
    void want(int peer) override;
    [[nodiscard]] bool busy() const override { return !attempts_.empty(); }
    Status progress(std::vector<Made> *made) override;
    void add_to(std::vector<pollfd> *polled) const override;
    [[nodiscard]] int listener() const override { return acceptor_.listener(); }

  private:
    struct Attempt;
    enum class Outcome : uint8_t { waits, made, failed };
    [[nodiscard]] bool admits(int rank) const;
    Outcome begin(Attempt *attempt);
    Outcome advance(int peer, Attempt *attempt);
    Outcome await_connection(Attempt *attempt);
    Outcome await_greeting(int peer, Attempt *attempt);
    Outcome await_proof(Attempt *attempt);
    Outcome try_again(Attempt *attempt, const std::string &why);
    Outcome next_address(Attempt *attempt, int error);

    const RankContext &self_;
    const EndpointOf endpoint_of_;
    const Secret secret_;
    std::vector<bool> made_;  // by rank
    std::map<int, std::unique_ptr<Attempt>> attempts_;
    Acceptor acceptor_;
};

}  // namespace ringrt
