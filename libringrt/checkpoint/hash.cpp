// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/hash.h"

#include <bit>
#include <cstring>

namespace ringrt::checkpoint {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little, "the file format is little-endian");

template <typename Word>
uint64_t load(const std::byte *at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

uint64_t round(uint64_t lane, uint64_t word) {
    return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ round(0, lane)) * kPrime1 + kPrime4; }

// Consumes whole 32-byte stripes of `bytes` and returns the state after them.
uint64_t stripes(std::span<const std::byte> &bytes) {
    uint64_t a = kPrime1 + kPrime2, b = kPrime2, c = 0, d = 0 - kPrime1;
    const std::byte *at = bytes.data(), *end = at + bytes.size() / 32 * 32;
    for (; at != end; at += 32) {
        a = round(a, load<uint64_t>(at));
        b = round(b, load<uint64_t>(at + 8));
        c = round(c, load<uint64_t>(at + 16));
        d = round(d, load<uint64_t>(at + 24));
    }
    bytes = bytes.subspan(bytes.size() / 32 * 32);
    uint64_t hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    return merge(merge(merge(merge(hash, a), b), c), d);
}

uint64_t tail(uint64_t hash, std::span<const std::byte> bytes) {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8))
        hash = std::rotl(hash ^ round(0, load<uint64_t>(bytes.data())), 27) * kPrime1 + kPrime4;
    if (bytes.size() >= 4) {
        hash = std::rotl(hash ^ load<uint32_t>(bytes.data()) * kPrime1, 23) * kPrime2 + kPrime3;
        bytes = bytes.subspan(4);
    }
    for (std::byte b : bytes)
        hash = std::rotl(hash ^ std::to_integer<uint64_t>(b) * kPrime5, 11) * kPrime1;
    return hash;
}

uint64_t avalanche(uint64_t hash) {
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
}

}  // namespace

uint64_t hash64(std::span<const std::byte> bytes) {
    const uint64_t length = bytes.size();
    uint64_t hash = length >= 32 ? stripes(bytes) : kPrime5;
    return avalanche(tail(hash + length, bytes));
}

}  // namespace ringrt::checkpoint
