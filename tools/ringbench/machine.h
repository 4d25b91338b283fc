// SPDX-License-Identifier: BSD-3-Clause
// What the machine gives: how far apart its cores sit, and how fast its memory is.
#pragma once

#include <string>

namespace ringrt::bench {

struct Machine {
    int cores = 1;           // usable by this process
    double handover_ns = 0;  // one way between the first two cores; 0: only one core
    std::string placement;   // "near" (< 150 ns), "mid" (< 400 ns), "far", "one core"
    double memory_GBps = 0;  // read and written together, by as many threads as ranks fit cores
};

[[nodiscard]] Machine look_at_machine(int ranks);

}  // namespace ringrt::bench
