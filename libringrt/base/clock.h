// SPDX-License-Identifier: BSD-3-Clause
// The library's clock, in the units that its users need.
#pragma once

#include <chrono>
#include <ctime>

namespace ringrt {

// Monotonic. Deadlines are points of this clock.
using Clock = std::chrono::steady_clock;

inline double now_us() {
    const auto now = Clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

inline double monotonic_s() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// CPU time of the calling thread so far.
inline double thread_cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace ringrt
