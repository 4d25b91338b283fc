// SPDX-License-Identifier: BSD-3-Clause
// Properties of the machine: the distance between its cores, and the speed of its memory.
#pragma once

#include <string>

namespace ringrt::bench {

struct Machine {
    int cores = 1;           // usable by this process
    double handover_ns = 0;  // one way between the first two cores; 0: only one core
    std::string placement;   // "near" (< 150 ns), "mid" (< 400 ns), "far", "one core"
    double memory_GBps = 0;  // read plus written, by one thread per rank, at most one per core
};

[[nodiscard]] Machine look_at_machine(int ranks);

}  // namespace ringrt::bench
