// SPDX-License-Identifier: BSD-3-Clause
// Times on a real GPU, printed as tables in Markdown.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace ringrt::test {

inline double now_us() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

// "8 B", "64 KiB", "256 MiB"
std::string bytes_text(size_t bytes);

// measure_state.cpp: state of `bytes` per rank, saved below `directory`.
void measure_checkpoint(int ranks, size_t bytes, const std::string &directory);
void measure_in_place(size_t bytes);

}  // namespace ringrt::test
