// SPDX-License-Identifier: BSD-3-Clause
// Shared by the fuzz targets. A target reads one hostile input and ends the process if the parser
// breaks a promise; sanitizers detect the rest. main() is libFuzzer's, or driver.cpp's if the
// compiler has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace ringrt::fuzz {

inline void expect(bool holds, const char *promise) {
    if (holds) return;
    fprintf(stderr, "broken promise: %s\n", promise);
    abort();
}

inline std::string_view text_of(const uint8_t *data, size_t size) {
    return {reinterpret_cast<const char *>(data), size};
}

// Safe for a terminal and a log: one line of bounded length without control characters.
inline bool is_one_line(std::string_view message, size_t bytes_max = 1000) {
    for (const unsigned char c : message)
        if (c < 0x20 || c == 0x7f) return false;
    return !message.empty() && message.size() <= bytes_max;
}

// Removes the text up to `separator` from `rest` and returns it.
inline std::string_view take_until(std::string_view &rest, char separator) {
    const std::string_view part = rest.substr(0, rest.find(separator));
    rest.remove_prefix(part.size() < rest.size() ? part.size() + 1 : rest.size());
    return part;
}

// Removes one byte from `rest` and returns it; 0 at its end.
inline uint8_t take_byte(std::string_view &rest) {
    if (rest.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    return byte;
}

}  // namespace ringrt::fuzz
