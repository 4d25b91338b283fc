// SPDX-License-Identifier: BSD-3-Clause
// Copies a caller's config struct, which starts with its size: it may be older (shorter) or newer
// (longer) than the library's. A new field begins where the last version ended, never in its
// padding, and so do the fields of a struct that it points to. PURE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "libringrt/base/status.h"

namespace ringrt {

// Copies to `out`, which must be initialised as by RINGRT_…_INIT (`initial` names it). `least` is
// the size of the first version, below which no program is.
template <class Config>
Status copy_config(const Config *config, size_t least, const char *initial, Config &out) {
    if (!config) return {};
    const size_t theirs = config->struct_size;
    if (theirs < least || theirs > 65536)
        return {RINGRT_INVALID_ARGUMENT,
                format_text("config.struct_size is not right: start from RINGRT_%s_INIT", initial)};
    std::memcpy(&out, config, std::min(theirs, sizeof out));
    const char *bytes = reinterpret_cast<const char *>(config);
    for (size_t i = sizeof out; i < theirs; ++i)
        if (bytes[i] != 0)
            return {RINGRT_INVALID_ARGUMENT,
                    "config has fields that this libringrt does not support"};
    return {};
}

}  // namespace ringrt
