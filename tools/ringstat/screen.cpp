// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/screen.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <string_view>

namespace ringrt::ringstat {
namespace {

winsize size_of_terminal() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
    return size;
}

// From the environment: this process keeps the C locale for its numbers.
bool locale_is_utf8() {
    const locale_t locale = newlocale(LC_CTYPE_MASK, "", nullptr);
    if (locale == nullptr) return false;
    const bool utf8 = std::string_view(nl_langinfo_l(CODESET, locale)) == "UTF-8";
    freelocale(locale);
    return utf8;
}

}  // namespace

Screen this_screen() {
    const std::size_t columns = size_of_terminal().ws_col;
    return {.columns = columns > 0 ? columns : 80, .utf8 = locale_is_utf8()};
}

std::size_t screen_lines() {
    const std::size_t lines = size_of_terminal().ws_row;
    return lines > 0 ? lines : 24;
}

}  // namespace ringrt::ringstat
