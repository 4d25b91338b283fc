// SPDX-License-Identifier: BSD-3-Clause
// One profile on one network under several rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libringrt/bucketing/bound.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"

namespace ringrt::ringplan {

struct Outcome {
    std::string_view rule;
    bucketing::Plan plan;
    bucketing::Timeline timeline;
    double planning_ms = 0;  // CPU time
};

struct Comparison {
    const bucketing::Profile *profile = nullptr;
    bucketing::Network network;
    std::vector<Outcome> outcomes;
    bucketing::Bound bound;
};

// `profile` must outlive the result. Throws if a rule made an invalid plan, which is a bug in
// ringrt.
[[nodiscard]] Comparison compare(const bucketing::Profile &profile,
                                 const bucketing::Network &network,
                                 const std::vector<const bucketing::Rule *> &rules);

// Why the forward pass waits under this outcome, as a sentence without a full stop.
[[nodiscard]] std::string why_it_waits(const Comparison &comparison, const Outcome &outcome);

}  // namespace ringrt::ringplan
