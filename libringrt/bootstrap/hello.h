// SPDX-License-Identifier: BSD-3-Clause
// The messages of the handshake and their evaluation, without a socket.
// clang-format off
//   server → client   Greeting: magic, server's nonce
//   client → server   Hello: magic, purpose, rank, size, client's nonce, MAC over all fields and both nonces
//   server → client   answer: MAC over the nonces in reverse order, and which of the two answers it is
// clang-format on
//
// The MACs are keyed with the job's secret: only its ranks are admitted, both sides are
// authenticated, and neither a recorded hello nor a recorded answer can be replayed. All messages
// have fixed sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libringrt/bootstrap/siphash.h"

namespace ringrt {

enum class Purpose : uint32_t { Start = 1, Data = 2, Join = 3 };

// One side of a handshake. A rank that asks to join belongs to another job, of any size.
struct Side {
    Secret secret;
    Purpose purpose;
    int rank, size;
};

using Nonce = std::array<std::byte, 16>;

// A message as bytes, to send or receive it.
template <class T>
std::span<std::byte> message_bytes(T &message) {
    return std::as_writable_bytes(std::span(&message, 1));
}

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

// What a server answers to the hello of a rank of its job. A server that only closes the connection
// has refused it without a reason, or has ended.
enum class Answer : uint64_t {
    accepted = 2,
    comes = 3,  // refused, because the server's own connection to the client is on its way
};
// Sent by the server; the client compares it with its own computation.
[[nodiscard]] Mac make_answer(Answer answer, const Secret &secret, const Hello &hello,
                              const Nonce &server_nonce);

// What a pending connection has sent so far.
struct PendingHello {
    Nonce nonce{};  // of our greeting
    Hello hello{};
    size_t received = 0;
    // Space for the rest of its hello; the caller adds the bytes it writes to `received`.
    std::span<std::byte> rest() {
        return std::as_writable_bytes(std::span(&hello, 1)).subspan(received);
    }
};
enum class HelloResult : uint8_t { incomplete, unauthenticated, authenticated };
[[nodiscard]] HelloResult classify(const PendingHello &visit, const Side &server);

}  // namespace ringrt
