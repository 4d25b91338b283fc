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

// Writes one line to stderr, with the prefix "ringrt: ", in one write() so that the ranks' lines do
// not mix.
void log_line(const std::string &line);

}  // namespace ringrt
