// SPDX-License-Identifier: BSD-3-Clause
// What a run has learned about its gradients. A checkpoint carries it to the next run, at any size.
// The same Learned yields the same plan. PURE.
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
    double samples_per_rank = 0;  // in one step; 0: unknown
    double gbps = 0;              // 0: never measured, also not in an earlier run
    double alpha_us = 0;
    bucketing::Profile profile{};  // without names
};

inline constexpr size_t kLearnedBytesMax = size_t{4} << 20;

// One line of words; empty if it would exceed kLearnedBytesMax.
[[nodiscard]] std::string format_learned(const Learned &learned);

// Parses hostile text: nothing if it is malformed or a number is out of range.
[[nodiscard]] std::optional<Learned> parse_learned(std::string_view text);

// The profile scaled to this many samples per rank (unscaled if either count is 0).
[[nodiscard]] bucketing::Profile profile_at(const Learned &learned, double samples_per_rank);

// The iteration time of the rule's plan for a ring of `ranks`; 0 if unknown.
[[nodiscard]] double planned_step_ms(const bucketing::Rule &rule, const Learned &learned,
                                     int measured_ranks, int ranks, double samples_per_rank);

}  // namespace ringrt
