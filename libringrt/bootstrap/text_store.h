// SPDX-License-Identifier: BSD-3-Clause
// TextStore: what carries one short text from rank 0 to the other ranks, so that they can meet.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "libringrt/base/status.h"

namespace ringrt {

struct TextStore {
    // By rank 0, once; printable ASCII without blanks, shorter than RINGRT_STORE_VALUE_BYTES.
    std::function<Status(const std::string &text)> put;
    // By every other rank, once: waits for it.
    std::function<Status(uint32_t timeout_ms, std::string *text)> get;

    explicit operator bool() const { return put && get; }
};

}  // namespace ringrt
