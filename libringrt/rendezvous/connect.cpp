// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/rendezvous/connect.h"

#include "libringrt/rendezvous/handshake.h"

namespace ringrt {
namespace {

constexpr std::chrono::seconds kRetryFor(5);  // a peer that is dead stays away: F01 has ten

}  // namespace

Status connect_all(const World &world, const std::vector<Endpoint> &endpoints, Fd listener,
                   const Secret &secret, Patience *patience, std::vector<Fd> *out) {
    out->clear();
    out->resize(size_t(world.size));
    Door door(std::move(listener), secret, Purpose::Data, world);
    std::vector<Door::Arrival> arrivals;
    auto let_in = [&](int wait_ms) -> Status {
        RINGRT_TRY(door.serve(wait_ms, &arrivals));
        for (auto &[rank, fd] : arrivals) (*out)[size_t(rank)] = std::move(fd);
        arrivals.clear();
        return {};
    };
    // The peer may itself be knocking elsewhere: serve the own door before each knock, so that a
    // chain of waiting ranks always resolves from rank 0 upwards.
    auto meet = [&](int peer, Fd *fd) -> Status {
        RINGRT_TRY(connect_to(endpoints[size_t(peer)], patience, peer, fd));
        RINGRT_TRY(let_in(0));
        return knock(fd->get(), secret, Purpose::Data, world, peer);
    };
    for (int peer = 0; peer < world.rank; ++peer) {
        const auto begun = Clock::now();
        for (;;) {
            Fd fd;
            Status met = meet(peer, &fd);
            if (met.ok()) {
                (*out)[size_t(peer)] = std::move(fd);
                break;
            }
            // A crowd at its door, of many ranks or of strangers, may have cost this one its place.
            if (met.code != RINGRT_PEER_LOST && met.code != RINGRT_SYSTEM_ERROR) return met;
            if (Clock::now() - begun > kRetryFor) return met;
            RINGRT_TRY(patience->check(peer));
            RINGRT_TRY(let_in(kSliceMs));
        }
    }
    for (int peer = world.rank + 1; peer < world.size;) {
        if ((*out)[size_t(peer)].valid()) {
            ++peer;
            continue;
        }
        RINGRT_TRY(patience->check(peer));
        RINGRT_TRY(let_in(kSliceMs));
    }
    return {};
}

}  // namespace ringrt
