// SPDX-License-Identifier: BSD-3-Clause
// CPU time of the calling thread, so that other load on the machine does not count.
#pragma once

#include <ctime>

namespace ringrt::sim {

[[nodiscard]] inline double processor_ms() {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * double(time.tv_sec) + 1e-6 * double(time.tv_nsec);
}

}  // namespace ringrt::sim
