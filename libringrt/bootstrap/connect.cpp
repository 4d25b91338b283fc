// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/connect.h"

#include "libringrt/bootstrap/handshake.h"

namespace ringrt {
namespace {

constexpr std::chrono::seconds kRetryFor(5);  // a dead peer does not return; fault F01 allows 10 s

}  // namespace

Status connect_all(const RankContext &self, const std::vector<Endpoint> &endpoints, Fd listener,
                   const Secret &secret, Deadline *deadline, std::vector<Fd> *out) {
    out->clear();
    out->resize(size_t(self.size));
    Acceptor acceptor(std::move(listener), secret, Purpose::Data, self);
    std::vector<Acceptor::Accepted> arrivals;
    auto accept_ranks = [&](int wait_ms) -> Status {
        RINGRT_TRY(acceptor.serve(wait_ms, &arrivals));
        for (auto &[rank, fd] : arrivals) (*out)[size_t(rank)] = std::move(fd);
        arrivals.clear();
        return {};
    };
    // The peer may itself be connecting elsewhere. Serving our own acceptor before each
    // connect_handshake lets a chain of waiting ranks resolve from rank 0 upwards.
    auto reach = [&](int peer, Fd *fd) -> Status {
        RINGRT_TRY(connect_to(endpoints[size_t(peer)], deadline, peer, fd));
        RINGRT_TRY(accept_ranks(0));
        return connect_handshake(fd->get(), secret, Purpose::Data, self, peer);
    };
    for (int peer = 0; peer < self.rank; ++peer) {
        const auto begun = Clock::now();
        for (;;) {
            Fd fd;
            Status met = reach(peer, &fd);
            if (met.ok()) {
                (*out)[size_t(peer)] = std::move(fd);
                break;
            }
            // Its acceptor may have dropped this rank because of too many connections, from ranks
            // or from unauthenticated peers.
            if (met.code != RINGRT_PEER_LOST && met.code != RINGRT_SYSTEM_ERROR) return met;
            if (Clock::now() - begun > kRetryFor) return met;
            RINGRT_TRY(deadline->check(peer));
            RINGRT_TRY(accept_ranks(kSliceMs));
        }
    }
    for (int peer = self.rank + 1; peer < self.size;) {
        if ((*out)[size_t(peer)].valid()) {
            ++peer;
            continue;
        }
        RINGRT_TRY(deadline->check(peer));
        RINGRT_TRY(accept_ranks(kSliceMs));
    }
    return {};
}

}  // namespace ringrt
