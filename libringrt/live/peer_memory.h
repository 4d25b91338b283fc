// SPDX-License-Identifier: BSD-3-Clause
// Reads the memory of another process of the same user on the same machine: one copy, and the other
// process need not act. YAMA or PID namespaces may forbid it; the calls then return false.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ringrt::live {

// The process to read. The token distinguishes it from another with the same pid elsewhere.
struct PeerProcess {
    int64_t pid = 0;
    uint64_t token_at = 0;
    std::array<std::byte, 16> token{};
};

// `token` is random, and must stay at its address while the result is used.
[[nodiscard]] PeerProcess readable_process(const std::array<std::byte, 16> &token);

[[nodiscard]] bool is_readable(const PeerProcess &peer);
// Fills `to` from `address` in the peer; false if any byte could not be read.
[[nodiscard]] bool read_from(const PeerProcess &peer, uint64_t address, std::span<std::byte> to);

}  // namespace ringrt::live
