// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/rendezvous/handshake.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ringrt {
namespace {

constexpr int kVisitMs = 5000, kKnockMs = 10000;

template <class T>
std::span<std::byte> bytes_of(T &value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

Status knock(int fd, const Secret &secret, Purpose purpose, const World &world, int peer) {
    Patience within(world, "handshake", kKnockMs), *patience = &within;
    Greeting greeting{};
    RINGRT_TRY(read_all(fd, bytes_of(greeting), patience, peer));
    if (!is_greeting(greeting)) {
        return {RINGRT_PEER_LOST,
                format_line("rank %d: what listens where rank %d should be is not "
                            "ringrt of this version",
                            world.rank, peer)};
    }
    Nonce nonce{};
    RINGRT_TRY(make_random(nonce));
    const Side client{secret, purpose, world.rank, world.size};
    Hello hello = make_hello(client, greeting.nonce, nonce);
    RINGRT_TRY(write_all(fd, bytes_of(hello), patience, peer));
    Mac proof{};
    RINGRT_TRY(read_all(fd, bytes_of(proof), patience, peer));
    if (equal_in_constant_time(proof, make_proof(secret, hello, greeting.nonce))) return {};
    return {RINGRT_PEER_LOST, format_line("rank %d: what listens where rank %d should be does not "
                                          "know this job's secret",
                                          world.rank, peer)};
}

struct Door::Visitor {
    Fd fd;
    Visit visit;
    Clock::time_point since = Clock::now();
};

Door::Door(Fd listener, const Secret &secret, Purpose purpose, const World &world)
    : listener_(std::move(listener)),
      side_{secret, purpose, world.rank, world.size},
      world_(world),
      visitors_max_(size_t(world.size) + 64) {}

Door::~Door() = default;

void Door::drop(size_t index, const char *why) {
    // The first few are worth a line each; a flood is not.
    if (++dropped_ <= 3) {
        world_.warn(format_line("rank %d: dropped a connection to the %s port: %s", world_.rank,
                                side_.purpose == Purpose::Start ? "rendezvous" : "data", why));
    }
    visitors_.erase(visitors_.begin() + ptrdiff_t(index));
}

void Door::accept_waiting() {
    for (;;) {
        Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd.valid()) return;
        tune(fd.get());
        Visitor visitor;
        if (!make_random(visitor.visit.nonce).ok()) return;
        const Greeting greeting = make_greeting(visitor.visit.nonce);
        ssize_t sent = send(fd.get(), &greeting, sizeof greeting, MSG_NOSIGNAL);
        visitor.fd = std::move(fd);
        if (sent != ssize_t(sizeof greeting)) continue;  // an empty socket buffer takes 24 bytes
        if (visitors_.size() >= visitors_max_) drop(0, "too many at once");
        visitors_.push_back(std::move(visitor));
    }
}

bool Door::hear(Visitor *visitor, int *rank) {
    Visit &visit = visitor->visit;
    const auto bytes = visit.unheard();
    ssize_t got = recv(visitor->fd.get(), bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (got < 0) return true;
    visit.heard += size_t(got);
    const Verdict verdict = judge(visit, side_);
    if (verdict != Verdict::rank_of_job) return verdict == Verdict::incomplete;
    const Mac proof = make_proof(side_.secret, visit.hello, visit.nonce);
    if (send(visitor->fd.get(), &proof, sizeof proof, MSG_NOSIGNAL) != ssize_t(sizeof proof))
        return false;
    *rank = int(visit.hello.rank);
    return true;
}

Status Door::serve(int wait_ms, std::vector<Arrival> *arrivals) {
    std::vector<pollfd> polled{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Visitor &visitor : visitors_) {
        polled.push_back({.fd = visitor.fd.get(), .events = POLLIN, .revents = 0});
    }
    if (poll(polled.data(), polled.size(), wait_ms) < 0 && errno != EINTR) {
        return {RINGRT_SYSTEM_ERROR,
                format_line("rank %d: poll: %s", world_.rank, strerror(errno))};
    }
    for (size_t i = visitors_.size(); i-- > 0;) {
        Visitor &visitor = visitors_[i];
        int rank = -1;
        if (polled[i + 1].revents != 0 && !hear(&visitor, &rank)) {
            drop(i, "not a rank of this job");
        } else if (rank >= 0) {
            arrivals->push_back({rank, std::move(visitor.fd)});
            visitors_.erase(visitors_.begin() + ptrdiff_t(i));
        } else if (Clock::now() - visitor.since > std::chrono::milliseconds(kVisitMs)) {
            drop(i, "no hello within 5 s");
        }
    }
    if (polled[0].revents != 0) accept_waiting();
    return {};
}

}  // namespace ringrt
