// SPDX-License-Identifier: BSD-3-Clause
// unix_now_s: the clock of Slurm's records.
#pragma once

#include <chrono>

namespace ringrt {

// Seconds since 1970. It may jump: measure durations with a steady clock.
[[nodiscard]] inline double unix_now_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

}  // namespace ringrt
