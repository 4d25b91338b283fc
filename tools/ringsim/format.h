// SPDX-License-Identifier: BSD-3-Clause
// printf into a string of any length.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace ringrt::sim {

[[gnu::format(printf, 2, 0)]] inline void append_list(std::string &out, const char *format,
                                                      std::va_list values) {
    std::va_list again;
    va_copy(again, values);
    const int bytes = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (bytes <= 0) return;
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(bytes));
    std::vsnprintf(out.data() + before, static_cast<std::size_t>(bytes) + 1, format, values);
}

[[gnu::format(printf, 2, 3)]] inline void append(std::string &out, const char *format, ...) {
    std::va_list values;
    va_start(values, format);
    append_list(out, format, values);
    va_end(values);
}

[[gnu::format(printf, 1, 2)]] inline std::string text(const char *format, ...) {
    std::string out;
    std::va_list values;
    va_start(values, format);
    append_list(out, format, values);
    va_end(values);
    return out;
}

}  // namespace ringrt::sim
