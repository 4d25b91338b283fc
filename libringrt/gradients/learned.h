// SPDX-License-Identifier: BSD-3-Clause
// What one run of a job has learned about its gradients, as it travels in a checkpoint to the next,
// at whatever size that is. A plan follows from it: the same from the same. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/profile.h"
#include "libringrt/bucketing/rules.h"

namespace ringrt {

struct Learned {
    uint64_t plan_version = 0;
    double samples_per_rank = 0;  // in one step; 0: not known
    double gbps = 0;              // 0: no block was measured, and none in an earlier run
    double alpha_us = 0;
    bucketing::Profile profile{};  // without names
};

inline constexpr size_t kLearnedBytesMax = size_t{4} << 20;

// One line of words; empty where it would be longer than kLearnedBytesMax.
[[nodiscard]] std::string format_learned(const Learned &learned);

// The text is taken as hostile: nothing where it is not one of these, or a number is out of range.
[[nodiscard]] std::optional<Learned> parse_learned(std::string_view text);

// The profile with so many samples per rank: times in proportion (the same where either is 0).
[[nodiscard]] bucketing::Profile profile_at(const Learned &learned, double samples_per_rank);

// The iteration time of the plan for a ring of `ranks`; 0 where that cannot be said.
[[nodiscard]] double planned_step_ms(const bucketing::Rule &rule, const Learned &learned,
                                     int measured_ranks, int ranks, double samples_per_rank);

}  // namespace ringrt
