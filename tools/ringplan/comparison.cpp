// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/comparison.h"

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "tools/ringplan/text.h"

namespace ringrt::ringplan {

using namespace bucketing;

namespace {

struct Wait {
    size_t layer = 0;
    double us = 0;
};

Wait longest_wait(const Profile &profile, const Timeline &timeline) {
    Wait longest;
    double before = backward_us(profile);
    for (size_t i = 0; i < timeline.layers.size(); ++i) {
        const double us = timeline.layers[i].start_us - before;
        if (us > longest.us) longest = {i, us};
        before = timeline.layers[i].end_us;
    }
    return longest;
}

std::string shown_layer(const Profile &profile, size_t layer) {
    const std::string &name = profile.gradients[layer].name;
    return "layer " + std::to_string(layer) +
           (name.empty() ? "" : " (" + name.substr(0, name.find_first_of("(; ")) + ")");
}

}  // namespace

Comparison compare(const Profile &profile, const Network &network,
                   const std::vector<const Rule *> &rules) {
    Comparison out{&profile, network, {}, bound_of(profile, network)};
    for (const Rule *rule : rules) {
        const clock_t start = clock();
        Plan plan = rule->plan(profile, network);
        const double ms = 1e3 * static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
        if (const auto fault = fault_of(plan, profile)) {
            throw std::logic_error("rule " + std::string(rule->name) +
                                   " made a faulty plan: " + *fault);
        }
        Timeline timeline = simulate(profile, network, plan);
        out.outcomes.push_back({rule->name, std::move(plan), std::move(timeline), ms});
    }
    return out;
}

std::string why_it_waits(const Comparison &comparison, const Outcome &outcome) {
    const Profile &profile = *comparison.profile;
    const Timeline &timeline = outcome.timeline;
    const Wait wait = longest_wait(profile, timeline);
    if (wait.us < 1) return "the forward pass never waits";
    if (outcome.plan.barrier) {
        return "all layers wait " + in_ms(wait.us) + " until the last block is done";
    }
    size_t block = 0;
    while (timeline.blocks[block].end_us != timeline.complete_us[wait.layer] ||
           outcome.plan.blocks[block].phase == Phase::reduce_scatter) {
        ++block;
    }
    return shown_layer(profile, wait.layer) + " waits " + in_ms(wait.us) + " for block " +
           std::to_string(block + 1) + " of " + std::to_string(timeline.blocks.size()) + " (" +
           in_mb(static_cast<double>(block_bytes(outcome.plan.blocks[block]))) + ")";
}

}  // namespace ringrt::ringplan
