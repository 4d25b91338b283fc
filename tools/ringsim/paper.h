// SPDX-License-Identifier: BSD-3-Clause
// arXiv 1908.08082: its workload, as recalled, and the output of `ringsim paper` about its models.
#pragma once

#include <array>

namespace ringrt::sim {

inline constexpr double kPaperEpochs = 160;
inline constexpr std::array<int, 4> kPaperSizes{1, 2, 4, 8};
inline constexpr std::array<double, 4> kPaperEpoch_s{138.0, 81.9, 47.25, 29.6};

// Seconds of one all-reduce of `bytes` among `w` workers, by the textbook cost models.
enum class Collective { ring, halving_doubling };
[[nodiscard]] double collective_s(Collective collective, int w, double bytes);

void print_collectives();
void print_trap();                 // one more GPU than a power of two
void print_price_of_the_ladder();  // against the optimum over all integers
void print_stop_and_restart(double restart_s);

}  // namespace ringrt::sim
