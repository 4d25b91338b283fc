// SPDX-License-Identifier: BSD-3-Clause
// The controller's counters, for `ringstat diag` and the tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ringrt::controller {

struct ResizeCounts {
    uint64_t asked = 0, resized = 0, called_off = 0, lost = 0, refused = 0;
};

struct Statistics {
    uint64_t passes = 0, failed_observations = 0, exceptions = 0;
    ResizeCounts resizes;                            // since the start
    std::map<std::string, ResizeCounts> by_reason;   // the policy's reason codes
    std::map<std::string, uint64_t> called_off_why;  // "late", "suspended"
    int malleable = 0, in_flight = 0, waiting = 0;   // jobs in the last pass
    int paused = 0;                                  // jobs in the last pass
    uint64_t pauses = 0;                             // since the start
    int gpus_held = 0, gpus_borrowed = 0;  // in the last pass, by malleable jobs; above their MIN
    // Of stops and restarts, from the signal until the job ran again; GPUs: its size before.
    uint64_t restarts = 0;
    double restart_s = 0, restart_gpu_s = 0;
    double breaker_until_s = 0;  // Unix time; past, or 0: resizes are asked
    std::string last_exception;  // its text; empty: none yet
};

}  // namespace ringrt::controller
