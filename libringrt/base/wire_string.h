// SPDX-License-Identifier: BSD-3-Clause
// Strings in the fixed-size records that ranks exchange: truncated to fit, 0-terminated.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

namespace ringrt {

template <size_t n>
void put(char (&to)[n], const std::string &text) {
    snprintf(to, n, "%s", text.c_str());
}

template <size_t n>
std::string get(const char (&from)[n]) {
    return {from, strnlen(from, n)};
}

}  // namespace ringrt
