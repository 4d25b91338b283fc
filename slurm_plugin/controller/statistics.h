// SPDX-License-Identifier: BSD-3-Clause
// What the controller counts: for `ringstat diag`, and for the tests.
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
    int malleable = 0, in_flight = 0;                // jobs in the last pass
    double breaker_until_s = 0;                      // Unix time; past, or 0: resizes are asked for
    std::string last_exception;                      // its text; empty: none yet
};

}  // namespace ringrt::controller
