// SPDX-License-Identifier: BSD-3-Clause
// XXH64 with seed 0, written from its specification
// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). One function of 60 lines is
// cheaper to build and to package than a dependency, and some ten times faster than a disk.
// It finds damage, not malice: whoever can write a checkpoint can also write its hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ringrt::checkpoint {

[[nodiscard]] uint64_t hash64(std::span<const std::byte> bytes);

}  // namespace ringrt::checkpoint
