// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringplan/grade.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/ringplan/comparison.h"
#include "tools/ringplan/text.h"

namespace ringrt::ringplan {

using namespace bucketing;

namespace {

void add_point(const Profile &profile, const Network &network, Grade &out) {
    std::vector<const Rule *> rules;
    for (const Rule &rule : all_rules()) rules.push_back(&rule);
    const Comparison comparison = compare(profile, network, rules);
    // The predictive rule is last in the table of rules.
    const Outcome &ours = comparison.outcomes.back();
    const Outcome *best = &comparison.outcomes.front();
    for (const Outcome &outcome : comparison.outcomes) {
        if (&outcome == &ours) continue;
        if (outcome.timeline.iteration_us < best->timeline.iteration_us) best = &outcome;
    }
    const double over_bound =
        ours.timeline.iteration_us / std::max(1e-9, comparison.bound.with_alpha_us);
    const double over_best =
        ours.timeline.iteration_us / std::max(1e-9, best->timeline.iteration_us);
    ++out.points;
    out.near_bound += over_bound <= 1.05;
    out.lost += over_best > 1.01;
    out.worst_over_bound = std::max(out.worst_over_bound, over_bound);
    out.worst_over_best = std::max(out.worst_over_best, over_best);
    out.slowest_plan_ms = std::max(out.slowest_plan_ms, ours.planning_ms);
    if (over_bound <= 1.05 && over_best <= 1.01) return;
    out.notes.push_back(padded(profile.name, -26) + padded(decimals(network.gbps, 0), 4) +
                        " Gb/s " + padded(std::to_string(network.ranks), 3) + " ranks " +
                        padded(decimals(network.alpha_us, 0), 4) +
                        " us: " + decimals(100 * (over_bound - 1), 1) + " % over the bound, " +
                        decimals(100 * (over_best - 1), 1) + " % against " +
                        std::string(best->rule));
}

}  // namespace

Grade grade(const std::vector<Profile> &profiles) {
    Grade out;
    for (const Profile &profile : profiles) {
        for (double gbps : {1.0, 3.0, 5.0, 10.0, 25.0, 100.0}) {
            for (int ranks : {2, 8, 64}) {
                for (double alpha_us : {10.0, 100.0, 300.0}) {
                    add_point(profile, {gbps, alpha_us, ranks}, out);
                }
            }
        }
    }
    return out;
}

std::string grade_text(const Grade &grade) {
    std::string out;
    for (const std::string &note : grade.notes) out += note + '\n';
    const double share = 100.0 * grade.near_bound / std::max(1, grade.points);
    return out + "points                                   " + std::to_string(grade.points) +
           "\nwithin 5 % of bound + unavoidable alpha   " + std::to_string(grade.near_bound) +
           " (" + decimals(share, 1) + " %)\nfarthest from it                         " +
           decimals(100 * (grade.worst_over_bound - 1), 1) +
           " %\n> 1 % slower than the best other rule     " + std::to_string(grade.lost) +
           "\nworst against the best other rule        " +
           decimals(100 * (grade.worst_over_best - 1), 2) +
           " %\nlongest planning, processor time         " + decimals(grade.slowest_plan_ms, 1) +
           " ms\n";
}

std::string grade_json(const Grade &grade) {
    const nlohmann::ordered_json out = {{"points", grade.points},
                                        {"near_bound", grade.near_bound},
                                        {"worst_over_bound", grade.worst_over_bound},
                                        {"lost", grade.lost},
                                        {"worst_over_best", grade.worst_over_best},
                                        {"slowest_plan_ms", grade.slowest_plan_ms},
                                        {"notes", grade.notes}};
    return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace ringrt::ringplan
