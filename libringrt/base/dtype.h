// SPDX-License-Identifier: BSD-3-Clause
// The one table of the element types. PURE.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "libringrt/ringrt.h"

namespace ringrt {

struct Dtype {
    std::string_view name;  // as in messages and manifests
    size_t bytes;
    bool is_short_float;  // reduced in float32, and rounded once
};

// Indexed by ringrt_dtype_t.
inline constexpr std::array<Dtype, 13> kDtypes = {{{"float32", 4, false},
                                                   {"float64", 8, false},
                                                   {"float16", 2, true},
                                                   {"bfloat16", 2, true},
                                                   {"int32", 4, false},
                                                   {"int64", 8, false},
                                                   {"uint8", 1, false},
                                                   {"int8", 1, false},
                                                   {"bool", 1, false},
                                                   {"float8_e4m3", 1, true},
                                                   {"float8_e5m2", 1, true},
                                                   {"uint32", 4, false},
                                                   {"uint64", 8, false}}};
static_assert(RINGRT_UINT64 + 1 == kDtypes.size());

// Null if there is no such type: the number may come from a caller or a peer.
[[nodiscard]] constexpr const Dtype *dtype_of(int dtype) {
    return dtype >= 0 && size_t(dtype) < kDtypes.size() ? &kDtypes[size_t(dtype)] : nullptr;
}

// False if no type has that name.
[[nodiscard]] constexpr bool dtype_from_name(std::string_view name, ringrt_dtype_t &dtype) {
    for (size_t i = 0; i < kDtypes.size(); ++i) {
        if (kDtypes[i].name != name) continue;
        dtype = static_cast<ringrt_dtype_t>(i);
        return true;
    }
    return false;
}

// Bytes of one element; 0 if there is no such type.
[[nodiscard]] constexpr size_t dtype_bytes(int dtype) {
    const Dtype *known = dtype_of(dtype);
    return known ? known->bytes : 0;
}

}  // namespace ringrt
