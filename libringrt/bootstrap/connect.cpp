// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/connect.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "libringrt/base/closed_in_children.h"

namespace ringrt {
namespace {

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

// The peer's connection, which got the answer that our own comes. It shows the peer that this
// process lives, so a forked child must not hold it open.
struct RefusedConnection {
    explicit RefusedConnection(Fd peers) : fd(std::move(peers)), closed_in_children({fd.get()}) {}
    Fd fd;
    ClosedInChildren closed_in_children;
};

}  // namespace

struct Connector::Attempt {
    // Waits for: the next try; the connection; the greeting; the answer to our hello; the
    // connection that the peer has begun (`fd` ends if the peer does).
    enum State : uint8_t { Pause, Connecting, Greeted, Proved, Coming } state = Pause;
    Endpoint endpoint;
    size_t address = 0;       // the one that is tried
    bool all_refused = true;  // every address so far, at once: no process listens there
    Fd fd;
    Greeting greeting{};
    Hello hello{};
    Mac answer{};
    size_t received = 0;
    std::optional<RefusedConnection> refused;
    std::string why;
    // The first try that ended early; a peer that is silent is left to the operation's timeout.
    std::optional<Clock::time_point> failing_since;
    bool silent = false;  // the last try had no answer
    Clock::time_point state_since = Clock::now(), again = state_since;
};

Connector::Connector(const RankContext &self, EndpointOf endpoint_of, Fd listener,
                     const Secret &secret, const ConnectTimes &times)
    : self_(self),
      endpoint_of_(std::move(endpoint_of)),
      secret_(secret),
      times_(times),
      made_(size_t(self.size), false),
      acceptor_(
          std::move(listener), secret, Purpose::Data, self,
          [this](int rank) { return admits(rank); }, times.hello_within) {}

Connector::~Connector() = default;

// A connection that this rank has begun may be withdrawn until its hello is sent. After that the
// lower rank of the two may have taken it, so the higher one insists.
Acceptor::Admission Connector::admits(int rank) const {
    if (made_[size_t(rank)]) return Acceptor::Admission::refused;
    const auto own = attempts_.find(rank);
    const bool insists =
        own != attempts_.end() && self_.rank > rank && own->second->state == Attempt::Proved;
    return insists ? Acceptor::Admission::comes : Acceptor::Admission::accepted;
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

Connector::Outcome Connector::try_again(Attempt *attempt, const std::string &why, bool silent) {
    attempt->fd = Fd();
    attempt->why = why;
    attempt->state = Attempt::Pause;
    attempt->again = Clock::now() + times_.pause;
    if (!attempt->failing_since) attempt->failing_since = Clock::now();
    attempt->silent = silent;
    const auto limit = silent ? times_.silent_for : times_.retry_for;
    return Clock::now() - *attempt->failing_since < limit ? Outcome::waits : Outcome::failed;
}

Connector::Outcome Connector::next_address(Attempt *attempt, int error) {
    if (error != ECONNREFUSED) attempt->all_refused = false;
    const std::string why =
        format_text("cannot connect to %s port %d: %s",
                    attempt->endpoint.addresses.empty() ? "(no address)"
                                                        : attempt->endpoint.addresses[0].c_str(),
                    attempt->endpoint.port, strerror(error));
    const Outcome outcome = try_again(attempt, why, error == ETIMEDOUT);
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
        const bool late = Clock::now() - attempt->state_since > times_.address_within;
        return late ? next_address(attempt, ETIMEDOUT) : Outcome::waits;
    }
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(attempt->fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return next_address(attempt, error);
    tune(attempt->fd.get(), kHostLostUnanswered);
    if (attempt->silent) attempt->failing_since.reset();  // the host answers again
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

Connector::Outcome Connector::await_answer(Attempt *attempt) {
    const Got got = read_on(attempt->fd.get(), message_bytes(attempt->answer), &attempt->received);
    if (got == Got::nothing_more) return try_again(attempt, "it refused a connection");
    if (got == Got::part) return Outcome::waits;
    const auto is = [&](Answer answer) {
        return equal_in_constant_time(
            attempt->answer, make_answer(answer, secret_, attempt->hello, attempt->greeting.nonce));
    };
    if (is(Answer::accepted)) return Outcome::made;
    if (is(Answer::comes)) {
        attempt->state = Attempt::Coming;
        attempt->failing_since.reset();  // it is alive
        return Outcome::waits;
    }
    attempt->why = "the process at its address does not have this job's secret";
    return Outcome::failed;
}

// The peer closes it without another byte.
Connector::Outcome Connector::await_arrival(Attempt *attempt) {
    if (!is_ready(attempt->fd.get(), POLLIN)) return Outcome::waits;
    return try_again(attempt, "it gave up its own connection");
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
                outcome = await_answer(attempt);
                break;
            case Attempt::Coming:
                outcome = await_arrival(attempt);
                break;
        }
        if (outcome != Outcome::waits || attempt->state <= before) return outcome;
    }
}

void Connector::take(Acceptor::Accepted arrival, std::vector<Made> *made) {
    const auto peer = size_t(arrival.rank);
    if (made_[peer]) return;  // twice at once: its next try will be refused as well
    if (arrival.comes) {
        const auto own = attempts_.find(arrival.rank);
        if (own != attempts_.end()) own->second->refused.emplace(std::move(arrival.fd));
        return;
    }
    made_[peer] = true;
    attempts_.erase(arrival.rank);
    made->push_back({.peer = arrival.rank, .fd = std::move(arrival.fd), .why = {}});
}

Status Connector::progress(std::vector<Made> *made) {
    std::vector<Acceptor::Accepted> arrivals;
    RINGRT_TRY(acceptor_.serve(0, &arrivals));
    for (Acceptor::Accepted &each : arrivals) take(std::move(each), made);
    for (auto each = attempts_.begin(); each != attempts_.end();) {
        auto &[peer, attempt] = *each;
        const Outcome outcome = advance(peer, attempt.get());
        if (outcome == Outcome::waits) {
            ++each;
            continue;
        }
        made_[size_t(peer)] = true;
        if (outcome == Outcome::failed) attempt->fd = Fd();
        if (attempt->fd.valid()) tune(attempt->fd.get());
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
