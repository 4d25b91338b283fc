// SPDX-License-Identifier: BSD-3-Clause
// Reading the memory of another process of the same user on the same machine: one copy, without a
// step of the process that is read. Not everywhere allowed (YAMA, PID namespaces): then it says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ringrt::live {

// Of the process to read. The token tells it from another one that has its number elsewhere.
struct PeerProcess {
    int64_t pid = 0;
    uint64_t token_at = 0;
    std::array<std::byte, 16> token{};
};

// `token` is random, and stays where it is as long as the answer is used.
[[nodiscard]] PeerProcess readable_process(const std::array<std::byte, 16> &token);

[[nodiscard]] bool is_readable(const PeerProcess &peer);
// All of `to` from `address` there; false where not all could be read.
[[nodiscard]] bool read_from(const PeerProcess &peer, uint64_t address, std::span<std::byte> to);

}  // namespace ringrt::live
