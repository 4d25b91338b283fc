// SPDX-License-Identifier: BSD-3-Clause
// The messages of the handshake and what to make of them, without a socket.
//
// clang-format off
//   server → client   Greeting: magic, server's nonce
//   client → server   Hello: magic, purpose, rank, size, client's nonce, MAC over all of it and both nonces
//   server → client   proof: MAC over the nonces the other way round
// clang-format on
//
// The MACs are keyed with the job's secret, so only its ranks come in, both sides are proven, and a
// recorded hello is worth nothing. All messages have fixed sizes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "libringrt/bootstrap/siphash.h"

namespace ringrt {

enum class Purpose : uint32_t { Start = 1, Data = 2, Join = 3 };

// One side of a handshake. Who asks to join is a rank of a job of its own: of any size.
struct Side {
    Secret secret;
    Purpose purpose;
    int rank, size;
};

using Nonce = std::array<std::byte, 16>;

struct Greeting {
    uint64_t magic;
    Nonce nonce;
};
[[nodiscard]] Greeting make_greeting(const Nonce &nonce);
[[nodiscard]] bool is_greeting(const Greeting &greeting);

struct Hello {
    uint64_t magic;
    uint32_t purpose, rank, size, zero;
    Nonce nonce;
    Mac mac;
};
[[nodiscard]] Hello make_hello(const Side &client, const Nonce &server_nonce, const Nonce &nonce);

// What the server sends back; the client compares it with the same, made by itself.
[[nodiscard]] Mac make_proof(const Secret &secret, const Hello &hello, const Nonce &server_nonce);

// What a pending at the server's acceptor has said so far.
struct PendingHello {
    Nonce nonce{};  // that it was greeted with
    Hello hello{};
    size_t heard = 0;
    // Where the next bytes of its hello go; whoever writes there adds them to `heard`.
    std::span<std::byte> unheard() {
        return std::as_writable_bytes(std::span(&hello, 1)).subspan(heard);
    }
};
enum class HelloResult : uint8_t { incomplete, unauthenticated, authenticated };
[[nodiscard]] HelloResult classify(const PendingHello &visit, const Side &server);

}  // namespace ringrt
