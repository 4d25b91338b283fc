// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace ringrt::ringstat {
namespace {

struct CodePoint {
    uint32_t value = 0;
    std::size_t bytes = 0;  // 0: not UTF-8 here
};

// The well-formed sequences of Unicode 15, table 3-7: no overlong forms, no surrogates.
CodePoint decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return {first, 1};
    const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
    uint32_t value = first & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return {};
        value = value << 6 | (byte(i) & 0x3FU);
    }
    const uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
    if (value < least || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
    return {value, bytes};
}

bool shows_as_itself(uint32_t c) {
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;
    if (c == 0x061C || c == 0x200E || c == 0x200F || c == 0xFEFF) return false;
    return !(c >= 0x2028 && c <= 0x202E) && !(c >= 0x2066 && c <= 0x2069);
}

std::string escaped(uint32_t value) {
    char text[16];
    if (value < 0x100)
        std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned>(value));
    else
        std::snprintf(text, sizeof text, "\\u{%04x}", static_cast<unsigned>(value));
    return text;
}

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

std::string printable(std::string_view hostile) {
    std::string out;
    while (!hostile.empty()) {
        const CodePoint c = decode(hostile);
        if (c.bytes == 0)
            out += escaped(static_cast<unsigned char>(hostile[0]));
        else if (shows_as_itself(c.value))
            out += hostile.substr(0, c.bytes);
        else
            out += escaped(c.value);
        hostile.remove_prefix(std::max<std::size_t>(c.bytes, 1));
    }
    return out;
}

std::string fit(std::string_view text, std::size_t width, bool right) {
    if (width == 0) return std::string(text);
    std::size_t columns = 0, end = 0;
    for (; end < text.size(); ++end) {
        if (!starts_code_point(text[end])) continue;
        if (columns == width) break;
        ++columns;
    }
    const std::string pad(width - columns, ' ');
    const std::string shown(text.substr(0, end));
    return right ? pad + shown : shown + pad;
}

std::string camel_case(std::string_view code) {
    std::string out;
    bool capital = true;
    for (const char c : code) {
        if (c != '_')
            out += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        capital = c == '_';
    }
    return out;
}

std::string duration(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e10) return "INVALID";
    const auto s = static_cast<long long>(seconds);
    char text[48];
    if (s >= 86400)
        std::snprintf(text, sizeof text, "%lld-%02lld:%02lld:%02lld", s / 86400, s / 3600 % 24,
                      s / 60 % 60, s % 60);
    else if (s >= 3600)
        std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        std::snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
    return text;
}

std::string local_time(double time_s) {
    const auto seconds = static_cast<time_t>(time_s);
    tm parts{};
    char text[32] = "?";
    if (localtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%FT%T", &parts);
    return text;
}

}  // namespace ringrt::ringstat
