// SPDX-License-Identifier: BSD-3-Clause
// What every command of ringstat says and asks in the same way.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace ringrt::ringstat {

inline double unix_now_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

inline void put(const std::string &text) { std::fwrite(text.data(), 1, text.size(), stdout); }

inline int fail(int status, const std::string &what) {
    std::fflush(stdout);
    std::fprintf(stderr, "ringstat: %s\n", what.c_str());
    return status;
}

}  // namespace ringrt::ringstat
