// SPDX-License-Identifier: BSD-3-Clause
// Text for messages.
#pragma once

#include <cstdint>
#include <string>

namespace ringrt {

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format_text(const char *format, ...);

// "3.1 GiB", "512 B".
std::string bytes_text(uint64_t bytes);

// One line to stderr, "ringrt: " before it, in one write() so that ranks' lines do not mix.
void log_line(const std::string &line);

}  // namespace ringrt
