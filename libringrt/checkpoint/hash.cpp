// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/hash.h"

#define XXH_INLINE_ALL  // no library to link
#include <xxhash.h>

namespace ringrt::checkpoint {

uint64_t hash64(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

}  // namespace ringrt::checkpoint
