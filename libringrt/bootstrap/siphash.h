// SPDX-License-Identifier: BSD-3-Clause
// SipHash-2-4 with 128 bits of output: a keyed hash that is unpredictable without the key. Source:
// Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "libringrt/base/status.h"

namespace ringrt {

using Secret = std::array<std::byte, 16>;
using Mac = std::array<std::byte, 16>;

[[nodiscard]] Mac siphash128(const Secret &key, std::span<const std::byte> message);
// The time does not depend on where they differ.
[[nodiscard]] bool equal_in_constant_time(const Mac &a, const Mac &b);

Status make_random(std::span<std::byte> out);  // from the kernel
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
// False unless `hex` is exactly 2·out.size() hexadecimal digits.
[[nodiscard]] bool from_hex(std::string_view hex, std::span<std::byte> out);

}  // namespace ringrt
