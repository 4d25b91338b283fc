// SPDX-License-Identifier: BSD-3-Clause
// `ringplan grade`: our rule against the bound and against every other rule, over the bandwidths,
// rings and latencies that the project's targets name.
#pragma once

#include <string>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt::ringplan {

struct Grade {
    int points = 0;
    int near_bound = 0;              // within 5 % of the bound and its unavoidable alpha
    double worst_over_bound = 1;     // ratio
    int lost = 0;                    // more than 1 % slower than the best other rule
    double worst_over_best = 0;      // ratio
    double slowest_plan_ms = 0;      // processor time
    std::vector<std::string> notes;  // one line for each point that is not near the bound, or lost
};

[[nodiscard]] Grade grade(const std::vector<bucketing::Profile> &profiles);
[[nodiscard]] std::string grade_text(const Grade &grade);
[[nodiscard]] std::string grade_json(const Grade &grade);

}  // namespace ringrt::ringplan
