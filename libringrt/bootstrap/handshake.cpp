// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/handshake.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ringrt {

Status connect_handshake(int fd, const Secret &secret, Purpose purpose, const RankContext &self,
                         int peer, std::chrono::milliseconds within) {
    Deadline silence(self, "handshake", uint32_t(within.count())), *deadline = &silence;
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
    const Mac accepted = make_answer(Answer::accepted, secret, hello, greeting.nonce);
    if (equal_in_constant_time(proof, accepted)) return {};
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
                   Admits admits, std::chrono::milliseconds hello_within)
    : listener_(std::move(listener)),
      side_{secret, purpose, self.rank, self.size},
      self_(self),
      admits_(std::move(admits)),
      hello_within_(hello_within),
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
    return answer(*pending, *rank);
}

Acceptor::Heard Acceptor::answer(const PendingConnection &pending, int rank) const {
    const Admission admission = admits_ ? admits_(rank) : Admission::accepted;
    if (admission == Admission::refused) return Heard::refused;
    const bool comes = admission == Admission::comes;
    const Mac mac = make_answer(comes ? Answer::comes : Answer::accepted, side_.secret,
                                pending.visit.hello, pending.visit.nonce);
    // An empty socket buffer takes it whole.
    if (send(pending.fd.get(), &mac, sizeof mac, MSG_NOSIGNAL) != ssize_t(sizeof mac))
        return Heard::refused;
    return comes ? Heard::comes : Heard::rank;
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
    const auto before = ptrdiff_t(arrivals->size());
    for (size_t i = pending_.size(); i-- > 0;) {
        PendingConnection &pending = pending_[i];
        int rank = -1;
        const Heard heard = polled[i + 1].revents != 0 ? read_hello(&pending, &rank) : Heard::part;
        if (heard == Heard::stranger) {
            drop(i, "not a rank of this job");
        } else if (heard != Heard::part) {
            const bool comes = heard == Heard::comes;
            if (comes || heard == Heard::rank)
                arrivals->push_back({rank, std::move(pending.fd), comes});
            pending_.erase(pending_.begin() + ptrdiff_t(i));
        } else if (Clock::now() - pending.since > hello_within_) {
            drop(i, "no hello in time");
        }
    }
    std::reverse(arrivals->begin() + before, arrivals->end());
    if (polled[0].revents != 0) accept_waiting();
    return {};
}

}  // namespace ringrt
