// SPDX-License-Identifier: BSD-3-Clause
// `ringplan grade`: the predictive rule against the bound and every other rule, over the
// bandwidths, rings and latencies in the project's targets.
#pragma once

#include <string>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt::ringplan {

struct Grade {
    int points = 0;
    int near_bound = 0;              // within 5 % of the bound with its unavoidable alpha
    double worst_over_bound = 1;     // ratio
    int lost = 0;                    // more than 1 % slower than the best other rule
    double worst_over_best = 0;      // ratio
    double slowest_plan_ms = 0;      // CPU time
    std::vector<std::string> notes;  // one line per point that is lost or not near the bound
};

[[nodiscard]] Grade grade(const std::vector<bucketing::Profile> &profiles);
[[nodiscard]] std::string grade_text(const Grade &grade);
[[nodiscard]] std::string grade_json(const Grade &grade);

}  // namespace ringrt::ringplan
