// SPDX-License-Identifier: BSD-3-Clause
// TextStore: carries one short text from rank 0 to the other ranks, for the rendezvous.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "libringrt/base/status.h"

namespace ringrt {

struct TextStore {
    // Called by rank 0, once; printable ASCII without blanks, shorter than
    // RINGRT_STORE_VALUE_BYTES.
    std::function<Status(const std::string &text)> put;
    // Called by every other rank, once; waits for the text.
    std::function<Status(uint32_t timeout_ms, std::string *text)> get;

    explicit operator bool() const { return put && get; }
};

}  // namespace ringrt
