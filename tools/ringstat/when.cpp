// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/when.h"

#include <charconv>
#include <ctime>
#include <string>

namespace ringrt::ringstat {
namespace {

std::optional<double> ago(std::string_view text, double now_s) {
    double count = 0;
    const char *end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, count, std::chars_format::fixed);
    if (read.ec != std::errc{} || end - read.ptr != 1 || count < 0 || count > 1e6)
        return std::nullopt;
    switch (*read.ptr) {
        case 's':
            return now_s - count;
        case 'm':
            return now_s - count * 60;
        case 'h':
            return now_s - count * 3600;
        case 'd':
            return now_s - count * 86400;
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<double> parse_when(std::string_view text, double now_s) {
    if (text == "now") return now_s;
    if (const auto moment = ago(text, now_s)) return moment;
    const std::string whole(text.substr(0, 64));
    for (const char *format :
         {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%H:%M:%S", "%H:%M"}) {
        const auto now = static_cast<time_t>(now_s);
        tm parts{};
        const bool today = format[1] == 'H';
        if (today) (void)localtime_r(&now, &parts);
        parts.tm_sec = 0;
        const char *end = strptime(whole.c_str(), format, &parts);
        if (end == nullptr || *end != '\0') continue;
        parts.tm_isdst = -1;
        const time_t moment = mktime(&parts);
        if (moment >= 0) return static_cast<double>(moment);
    }
    return std::nullopt;
}

}  // namespace ringrt::ringstat
