// SPDX-License-Identifier: BSD-3-Clause
// One clock of the library, in the units that its users count in.
#pragma once

#include <chrono>
#include <ctime>

namespace ringrt {

// Never goes back. Deadlines are points of it.
using Clock = std::chrono::steady_clock;

inline double now_us() {
    const auto now = Clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

inline double monotonic_s() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// Processor time of the calling thread so far.
inline double thread_cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace ringrt
