// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/text.h"

#include <cstdio>
#include <cstdlib>

namespace ringrt::ringplan {

std::string decimals(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

std::string in_ms(double us) { return decimals(us / 1e3, us < 1e4 ? 2 : us < 1e5 ? 1 : 0) + " ms"; }

std::string in_mb(double bytes) {
    return decimals(bytes / 1e6, bytes < 1e7 ? 2 : bytes < 1e8 ? 1 : 0) + " MB";
}

std::string padded(std::string text, int width) {
    const auto wanted = static_cast<size_t>(std::abs(width));
    if (text.size() >= wanted) return text;
    const std::string space(wanted - text.size(), ' ');
    return width < 0 ? text + space : space + text;
}

}  // namespace ringrt::ringplan
