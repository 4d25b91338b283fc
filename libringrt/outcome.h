// SPDX-License-Identifier: BSD-3-Clause
// What an operation of the runtime came to: a status for the program, one line for the user.
#pragma once

#include <string>

#include "libringrt/ringrt.h"

namespace ringrt {

struct [[nodiscard]] Outcome {
    ringrt_status_t status = RINGRT_OK;
    std::string message;  // empty when ok; else what happened and what to do, without a newline

    bool ok() const { return status == RINGRT_OK; }
};

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(const char *format, ...);

// "3.1 GiB", "512 B".
std::string bytes_text(uint64_t bytes);

// One line to stderr, "ringrt: " before it, in one write() so that ranks' lines do not mix.
void log_line(const std::string &line);

}  // namespace ringrt
