// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/hello.h"

#include <bit>

namespace ringrt {
namespace {

constexpr uint64_t kMagic =
    std::bit_cast<uint64_t>(std::array<char, 8>{'r', 'i', 'n', 'g', 'r', 't', '/', '2'});

// The input of all MACs; `direction` prevents the use of one as another: 1 of a hello, or the
// answer.
struct Proof {
    uint64_t direction;
    uint32_t purpose, rank, size, zero;
    Nonce first, second;
};

Mac mac_of(const Secret &secret, const Proof &proof) {
    return siphash128(secret, std::as_bytes(std::span(&proof, 1)));
}

Mac client_mac(const Secret &secret, const Hello &hello, const Nonce &server) {
    return mac_of(secret, {1, hello.purpose, hello.rank, hello.size, 0, server, hello.nonce});
}

}  // namespace

Greeting make_greeting(const Nonce &nonce) { return {.magic = kMagic, .nonce = nonce}; }

bool is_greeting(const Greeting &greeting) { return greeting.magic == kMagic; }

Hello make_hello(const Side &client, const Nonce &server_nonce, const Nonce &nonce) {
    Hello hello{.magic = kMagic,
                .purpose = uint32_t(client.purpose),
                .rank = uint32_t(client.rank),
                .size = uint32_t(client.size),
                .zero = 0,
                .nonce = nonce,
                .mac = {}};
    hello.mac = client_mac(client.secret, hello, server_nonce);
    return hello;
}

Mac make_answer(Answer answer, const Secret &secret, const Hello &hello,
                const Nonce &server_nonce) {
    return mac_of(secret, {uint64_t(answer), hello.purpose, hello.rank, hello.size, 0, hello.nonce,
                           server_nonce});
}

HelloResult classify(const PendingHello &visit, const Side &server) {
    const Hello &hello = visit.hello;
    if (visit.received >= sizeof hello.magic && hello.magic != kMagic)
        return HelloResult::unauthenticated;
    if (visit.received < sizeof hello) return HelloResult::incomplete;
    const bool known =
        equal_in_constant_time(hello.mac, client_mac(server.secret, hello, visit.nonce));
    const bool of_this_job = hello.size == uint32_t(server.size) && int(hello.rank) != server.rank;
    const bool sound = hello.purpose == uint32_t(server.purpose) && hello.rank < hello.size &&
                       (of_this_job || server.purpose == Purpose::Join);
    return known && sound ? HelloResult::authenticated : HelloResult::unauthenticated;
}

}  // namespace ringrt
