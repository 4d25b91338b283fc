// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/format.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

namespace ringrt {

std::string format_text(const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(nullptr, 0, format, args);
    va_end(args);
    std::string out(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    vsnprintf(out.data(), out.size() + 1, format, again);
    va_end(again);
    return out;
}

std::string bytes_text(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes);
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
    return unit == 0 ? format_text("%llu B", static_cast<unsigned long long>(bytes))
                     : format_text("%.1f %s", value, units[unit]);
}

void log_line(const std::string &line) {
    std::string whole = "ringrt: " + line + "\n";
    for (char &c : whole)
        if (static_cast<unsigned char>(c) < ' ' && &c != &whole.back()) c = ' ';
    ssize_t written = write(STDERR_FILENO, whole.data(), whole.size());
    (void)written;  // there is no place to report an error
}

}  // namespace ringrt
