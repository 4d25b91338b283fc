// SPDX-License-Identifier: BSD-3-Clause
// The results, and their output formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/ringbench/machine.h"

namespace ringrt::bench {

struct Row {
    std::string implementation;
    int ranks = 0;
    bool shared = false;
    uint64_t bytes = 0;
    double median_us = 0, p10_us = 0;  // of one allreduce, over rounds
    double busbw_GBps = 0;             // 2(p-1)/p·bytes/median, as defined by nccl-tests
    double cycle_us = 0;  // write, allreduce, read; minus the same without the allreduce
    double floor_us = 0;  // 2·p·bytes at the measured memory bandwidth
    uint64_t wrong = 0;   // elements
};

[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] std::string csv(const std::vector<Row> &rows);
[[nodiscard]] std::string json(const std::vector<Row> &rows, const Machine &machine);
[[nodiscard]] std::string table(const std::vector<Row> &rows, const Machine &machine);

}  // namespace ringrt::bench
