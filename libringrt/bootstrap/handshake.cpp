// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/handshake.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ringrt {
namespace {

constexpr int kVisitMs = 5000, kHandshakeMs = 10000;

}  // namespace

Status connect_handshake(int fd, const Secret &secret, Purpose purpose, const RankContext &self,
                         int peer) {
    Deadline within(self, "handshake", kHandshakeMs), *deadline = &within;
    Greeting greeting{};
    RINGRT_TRY(read_all(fd, message_bytes(greeting), deadline, peer));
    if (!is_greeting(greeting)) {
        return {RINGRT_PEER_LOST,
                format_text("rank %d: the process at the address of rank %d is not "
                            "ringrt of this version",
                            self.rank, peer)};
    }
    Nonce nonce{};
    RINGRT_TRY(make_random(nonce));
    const Side client{secret, purpose, self.rank, self.size};
    Hello hello = make_hello(client, greeting.nonce, nonce);
    RINGRT_TRY(write_all(fd, message_bytes(hello), deadline, peer));
    Mac proof{};
    RINGRT_TRY(read_all(fd, message_bytes(proof), deadline, peer));
    if (equal_in_constant_time(proof, make_proof(secret, hello, greeting.nonce))) return {};
    return {RINGRT_PEER_LOST,
            format_text(
                "rank %d: the process at the address of rank %d does not have this job's secret",
                self.rank, peer)};
}

struct Acceptor::PendingConnection {
    Fd fd;
    PendingHello visit;
    Clock::time_point since = Clock::now();
};

Acceptor::Acceptor(Fd listener, const Secret &secret, Purpose purpose, const RankContext &self,
                   std::function<bool(int rank)> admits)
    : listener_(std::move(listener)),
      side_{secret, purpose, self.rank, self.size},
      self_(self),
      admits_(std::move(admits)),
      pending_max_(size_t(self.size) + 64) {}

Acceptor::~Acceptor() = default;

void Acceptor::drop(size_t index, const char *why) {
    // Log only the first few, so that a flood does not fill the log.
    if (++dropped_ <= 3) {
        self_.warn(format_text("rank %d: dropped a connection to the %s port: %s", self_.rank,
                               side_.purpose == Purpose::Start ? "rendezvous" : "data", why));
    }
    pending_.erase(pending_.begin() + ptrdiff_t(index));
}

void Acceptor::accept_waiting() {
    for (;;) {
        Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd.valid()) return;
        tune(fd.get());
        PendingConnection pending;
        if (!make_random(pending.visit.nonce).ok()) return;
        const Greeting greeting = make_greeting(pending.visit.nonce);
        ssize_t sent = send(fd.get(), &greeting, sizeof greeting, MSG_NOSIGNAL);
        pending.fd = std::move(fd);
        if (sent != ssize_t(sizeof greeting)) continue;  // an empty socket buffer takes 24 bytes
        if (pending_.size() >= pending_max_) drop(0, "too many at once");
        pending_.push_back(std::move(pending));
    }
}

Acceptor::Heard Acceptor::read_hello(PendingConnection *pending, int *rank) {
    PendingHello &visit = pending->visit;
    const auto bytes = visit.rest();
    ssize_t got = recv(pending->fd.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::part;
    // A rank withdraws a connection without a word if the peer's own has arrived meanwhile.
    if (got <= 0) return admits_ && visit.received == 0 ? Heard::refused : Heard::stranger;
    visit.received += size_t(got);
    const HelloResult verdict = classify(visit, side_);
    if (verdict == HelloResult::incomplete) return Heard::part;
    if (verdict == HelloResult::unauthenticated) return Heard::stranger;
    *rank = int(visit.hello.rank);
    if (admits_ && !admits_(*rank)) return Heard::refused;
    const Mac proof = make_proof(side_.secret, visit.hello, visit.nonce);
    const bool sent =
        send(pending->fd.get(), &proof, sizeof proof, MSG_NOSIGNAL) == ssize_t(sizeof proof);
    return sent ? Heard::rank : Heard::refused;
}

void Acceptor::add_to(std::vector<pollfd> *polled) const {
    polled->push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
    for (const PendingConnection &pending : pending_)
        polled->push_back({.fd = pending.fd.get(), .events = POLLIN, .revents = 0});
}

Status Acceptor::serve(int wait_ms, std::vector<Accepted> *arrivals) {
    std::vector<pollfd> polled;
    add_to(&polled);
    if (poll(polled.data(), polled.size(), wait_ms) < 0 && errno != EINTR) {
        return {RINGRT_SYSTEM_ERROR, format_text("rank %d: poll: %s", self_.rank, strerror(errno))};
    }
    for (size_t i = pending_.size(); i-- > 0;) {
        PendingConnection &pending = pending_[i];
        int rank = -1;
        const Heard heard = polled[i + 1].revents != 0 ? read_hello(&pending, &rank) : Heard::part;
        if (heard == Heard::stranger) {
            drop(i, "not a rank of this job");
        } else if (heard != Heard::part) {
            if (heard == Heard::rank) arrivals->push_back({rank, std::move(pending.fd)});
            pending_.erase(pending_.begin() + ptrdiff_t(i));
        } else if (Clock::now() - pending.since > std::chrono::milliseconds(kVisitMs)) {
            drop(i, "no hello within 5 s");
        }
    }
    if (polled[0].revents != 0) accept_waiting();
    return {};
}

}  // namespace ringrt
