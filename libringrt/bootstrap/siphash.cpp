// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/siphash.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace ringrt {
namespace {

struct State {
    uint64_t v0, v1, v2, v3;

    void round() {
        v0 += v1, v1 = std::rotl(v1, 13), v1 ^= v0, v0 = std::rotl(v0, 32);
        v2 += v3, v3 = std::rotl(v3, 16), v3 ^= v2;
        v0 += v3, v3 = std::rotl(v3, 21), v3 ^= v0;
        v2 += v1, v1 = std::rotl(v1, 17), v1 ^= v2, v2 = std::rotl(v2, 32);
    }
    void absorb(uint64_t word) {
        v3 ^= word;
        round(), round();
        v0 ^= word;
    }
    uint64_t squeeze() {
        round(), round(), round(), round();
        return v0 ^ v1 ^ v2 ^ v3;
    }
};

uint64_t load_little_endian(const std::byte *bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; ++i) word |= uint64_t(bytes[i]) << (8 * i);
    return word;
}

void store_little_endian(uint64_t word, std::byte *bytes) {
    for (size_t i = 0; i < 8; ++i) bytes[i] = std::byte(word >> (8 * i));
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

Mac siphash128(const Secret &key, std::span<const std::byte> message) {
    uint64_t k0 = load_little_endian(key.data(), 8), k1 = load_little_endian(key.data() + 8, 8);
    State state{.v0 = k0 ^ 0x736f6d6570736575,
                .v1 = k1 ^ 0x646f72616e646f6d ^ 0xee,
                .v2 = k0 ^ 0x6c7967656e657261,
                .v3 = k1 ^ 0x7465646279746573};
    size_t whole = message.size() / 8 * 8;
    for (size_t i = 0; i < whole; i += 8) state.absorb(load_little_endian(message.data() + i, 8));
    state.absorb(load_little_endian(message.data() + whole, message.size() - whole) |
                 uint64_t(message.size()) << 56);
    Mac mac;
    state.v2 ^= 0xee;
    store_little_endian(state.squeeze(), mac.data());
    state.v1 ^= 0xdd;
    store_little_endian(state.squeeze(), mac.data() + 8);
    return mac;
}

bool equal_in_constant_time(const Mac &a, const Mac &b) {
    volatile unsigned difference = 0;
    for (size_t i = 0; i < a.size(); ++i) difference = difference | unsigned(a[i] ^ b[i]);
    return difference == 0;
}

Status make_random(std::span<std::byte> out) {
    for (size_t done = 0; done < out.size();) {
        ssize_t got = getrandom(out.data() + done, out.size() - done, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            return {RINGRT_SYSTEM_ERROR, format_text("no random numbers: %s", strerror(errno))};
        }
        done += size_t(got);
    }
    return {};
}

std::string to_hex(std::span<const std::byte> bytes) {
    std::string hex;
    for (std::byte b : bytes) {
        hex += "0123456789abcdef"[unsigned(b) >> 4];
        hex += "0123456789abcdef"[unsigned(b) & 15];
    }
    return hex;
}

bool from_hex(std::string_view hex, std::span<std::byte> out) {
    if (hex.size() != 2 * out.size()) return false;
    for (size_t i = 0; i < out.size(); ++i) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = std::byte(high << 4 | low);
    }
    return true;
}

}  // namespace ringrt
