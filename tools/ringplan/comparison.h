// SPDX-License-Identifier: BSD-3-Clause
// One profile on one network under several rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libringrt/grouping/bound.h"
#include "libringrt/grouping/rules.h"
#include "libringrt/grouping/timeline.h"

namespace ringrt::ringplan {

struct Outcome {
    std::string_view rule;
    grouping::Plan plan;
    grouping::Timeline timeline;
    double planning_ms = 0;  // processor time
};

struct Comparison {
    const grouping::Profile *profile = nullptr;
    grouping::Network network;
    std::vector<Outcome> outcomes;
    grouping::Bound bound;
};

// `profile` must outlive the result. Throws where a rule made a faulty plan: that is a bug of ours.
[[nodiscard]] Comparison compare(const grouping::Profile &profile, const grouping::Network &network,
                                 const std::vector<const grouping::Rule *> &rules);

// Why the forward pass waits under this outcome, as a sentence without a full stop.
[[nodiscard]] std::string why_it_waits(const Comparison &comparison, const Outcome &outcome);

}  // namespace ringrt::ringplan
