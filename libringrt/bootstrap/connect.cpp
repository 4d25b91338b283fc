// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/connect.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace ringrt {
namespace {

constexpr std::chrono::seconds kRetryFor(5);  // a dead peer does not return; fault F01 allows 10 s
constexpr std::chrono::seconds kAnswerWithin(2);  // of one address
constexpr std::chrono::milliseconds kPause(20);   // before the next try

bool is_ready(int fd, short events) {
    pollfd polled{.fd = fd, .events = events, .revents = 0};
    return poll(&polled, 1, 0) > 0;
}

enum class Got : uint8_t { part, all, nothing_more };

// Reads the rest of a message of fixed size.
Got read_on(int fd, std::span<std::byte> message, size_t *received) {
    const ssize_t got = recv(fd, message.data() + *received, message.size() - *received, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        return Got::nothing_more;
    *received += got > 0 ? size_t(got) : 0;
    return *received == message.size() ? Got::all : Got::part;
}

}  // namespace

struct Connector::Attempt {
    enum State : uint8_t { Pause, Connecting, Greeted, Proved } state = Pause;  // what it waits for
    Endpoint endpoint;
    size_t address = 0;       // the one that is tried
    bool all_refused = true;  // every address so far, at once: no process listens there
    Fd fd;
    Greeting greeting{};
    Hello hello{};
    Mac proof{};
    size_t received = 0;
    std::string why;
    // The first try that ended early; a peer that is silent is left to the operation's timeout.
    std::optional<Clock::time_point> failing_since;
    Clock::time_point state_since = Clock::now(), again = state_since;
};

Connector::Connector(const RankContext &self, EndpointOf endpoint_of, Fd listener,
                     const Secret &secret)
    : self_(self),
      endpoint_of_(std::move(endpoint_of)),
      secret_(secret),
      made_(size_t(self.size), false),
      acceptor_(std::move(listener), secret, Purpose::Data, self,
                [this](int rank) { return admits(rank); }) {}

Connector::~Connector() = default;

// A connection that this rank has begun may be withdrawn until its hello is sent. After that the
// lower rank of the two may have taken it, so the higher one insists.
bool Connector::admits(int rank) const {
    if (made_[size_t(rank)]) return false;
    const auto own = attempts_.find(rank);
    return own == attempts_.end() || self_.rank < rank || own->second->state != Attempt::Proved;
}

void Connector::want(int peer) {
    if (made_[size_t(peer)] || attempts_.contains(peer)) return;
    auto attempt = std::make_unique<Attempt>();
    attempt->endpoint = endpoint_of_(peer);
    attempts_.emplace(peer, std::move(attempt));
}

Connector::Outcome Connector::begin(Attempt *attempt) {
    attempt->received = 0;
    attempt->state_since = Clock::now();
    attempt->state = Attempt::Connecting;
    const Endpoint &to = attempt->endpoint;
    const int error = attempt->address < to.addresses.size()
                          ? begin_connect(to.addresses[attempt->address], to.port, &attempt->fd)
                          : EADDRNOTAVAIL;
    return error != 0 ? next_address(attempt, error) : Outcome::waits;
}

Connector::Outcome Connector::try_again(Attempt *attempt, const std::string &why) {
    attempt->fd = Fd();
    attempt->why = why;
    attempt->state = Attempt::Pause;
    attempt->again = Clock::now() + kPause;
    if (!attempt->failing_since) attempt->failing_since = Clock::now();
    return Clock::now() - *attempt->failing_since < kRetryFor ? Outcome::waits : Outcome::failed;
}

Connector::Outcome Connector::next_address(Attempt *attempt, int error) {
    if (error != ECONNREFUSED) attempt->all_refused = false;
    const std::string why =
        format_text("cannot connect to %s port %d: %s",
                    attempt->endpoint.addresses.empty() ? "(no address)"
                                                        : attempt->endpoint.addresses[0].c_str(),
                    attempt->endpoint.port, strerror(error));
    const Outcome outcome = try_again(attempt, why);
    if (++attempt->address < attempt->endpoint.addresses.size()) {
        attempt->again = Clock::now();
        return outcome;
    }
    attempt->address = 0;
    if (attempt->all_refused) return Outcome::failed;
    attempt->all_refused = true;
    return outcome;
}

Connector::Outcome Connector::await_connection(Attempt *attempt) {
    if (!is_ready(attempt->fd.get(), POLLOUT)) {
        const bool late = Clock::now() - attempt->state_since > kAnswerWithin;
        return late ? next_address(attempt, ETIMEDOUT) : Outcome::waits;
    }
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(attempt->fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return next_address(attempt, error);
    tune(attempt->fd.get());
    attempt->state = Attempt::Greeted;
    return Outcome::waits;
}

Connector::Outcome Connector::await_greeting(int peer, Attempt *attempt) {
    const Got got =
        read_on(attempt->fd.get(), message_bytes(attempt->greeting), &attempt->received);
    // Its acceptor may have dropped this rank because of too many connections, from ranks or from
    // unauthenticated peers.
    if (got == Got::nothing_more) return try_again(attempt, "it closed a new connection");
    if (got == Got::part) return Outcome::waits;
    Nonce nonce{};
    if (!is_greeting(attempt->greeting) || !make_random(nonce).ok()) {
        attempt->why = format_text(
            "the process at the address of rank %d is not ringrt of this "
            "version",
            peer);
        return Outcome::failed;
    }
    const Side client{secret_, Purpose::Data, self_.rank, self_.size};
    attempt->hello = make_hello(client, attempt->greeting.nonce, nonce);
    const auto hello = message_bytes(attempt->hello);
    // An empty socket buffer takes it whole.
    if (send(attempt->fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != ssize_t(hello.size()))
        return try_again(attempt, "it closed a new connection");
    attempt->received = 0;
    attempt->state = Attempt::Proved;
    return Outcome::waits;
}

// If the peer refuses because of its own connection to this rank, that one arrives meanwhile.
Connector::Outcome Connector::await_proof(Attempt *attempt) {
    const Got got = read_on(attempt->fd.get(), message_bytes(attempt->proof), &attempt->received);
    if (got == Got::nothing_more) return try_again(attempt, "it refused a connection");
    if (got == Got::part) return Outcome::waits;
    const Mac expected = make_proof(secret_, attempt->hello, attempt->greeting.nonce);
    if (equal_in_constant_time(attempt->proof, expected)) return Outcome::made;
    attempt->why = "the process at its address does not have this job's secret";
    return Outcome::failed;
}

Connector::Outcome Connector::advance(int peer, Attempt *attempt) {
    for (;;) {
        const Attempt::State before = attempt->state;
        Outcome outcome = Outcome::waits;
        switch (before) {
            case Attempt::Pause:
                if (Clock::now() >= attempt->again) outcome = begin(attempt);
                break;
            case Attempt::Connecting:
                outcome = await_connection(attempt);
                break;
            case Attempt::Greeted:
                outcome = await_greeting(peer, attempt);
                break;
            case Attempt::Proved:
                outcome = await_proof(attempt);
                break;
        }
        if (outcome != Outcome::waits || attempt->state <= before) return outcome;
    }
}

Status Connector::progress(std::vector<Made> *made) {
    std::vector<Acceptor::Accepted> arrivals;
    RINGRT_TRY(acceptor_.serve(0, &arrivals));
    for (auto &[rank, fd] : arrivals) {
        if (made_[size_t(rank)]) continue;  // twice at once: its next try will be refused as well
        made_[size_t(rank)] = true;
        attempts_.erase(rank);
        made->push_back({.peer = rank, .fd = std::move(fd), .why = {}});
    }
    for (auto each = attempts_.begin(); each != attempts_.end();) {
        auto &[peer, attempt] = *each;
        const Outcome outcome = advance(peer, attempt.get());
        if (outcome == Outcome::waits) {
            ++each;
            continue;
        }
        made_[size_t(peer)] = true;
        if (outcome == Outcome::failed) attempt->fd = Fd();
        made->push_back(
            {.peer = peer, .fd = std::move(attempt->fd), .why = std::move(attempt->why)});
        each = attempts_.erase(each);
    }
    return {};
}

void Connector::add_to(std::vector<pollfd> *polled) const {
    acceptor_.add_to(polled);
    for (const auto &[peer, attempt] : attempts_) {
        const short events = attempt->state == Attempt::Connecting ? POLLOUT : POLLIN;
        if (attempt->fd.valid())
            polled->push_back({.fd = attempt->fd.get(), .events = events, .revents = 0});
    }
}

}  // namespace ringrt
