// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/learner.h"

#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"

namespace ringrt {

using namespace bucketing;

namespace {

constexpr double kWorthIt = 0.98;  // of the old plan's iteration

}  // namespace

Learner::Learner(const std::vector<uint64_t> &gradient_bytes, int ranks)
    : ranks_(ranks), profiler_(gradient_bytes) {}

bool Learner::restore(const Learned &learned, double samples_per_rank) {
    if (!profiler_.restore(profile_at(learned, samples_per_rank))) return false;
    link_known_ = learned.gbps > 0;
    if (link_known_) link_ = LinkFit(learned.gbps, learned.alpha_us);
    return true;
}

void Learner::sent(double bytes, double duration_us) {
    link_known_ = true;
    if (link_.observe(ranks_, bytes, duration_us)) replan_ = true;
}

void Learner::end_step() {
    if (profiler_.end_step()) replan_ = true;
    const Profile profile = profiler_.profile();
    std::vector<double> ready;
    for (uint32_t id : ready_order(profile)) ready.push_back(profile.gradients[id].ready_us);
    if (stages_.observe(ready)) replan_ = true;
    ++steps_;
}

bool Learner::take_replan_due() {
    const bool due = replan_ || (steps_ & (steps_ - 1)) == 0;
    replan_ = false;
    return due;
}

Network Learner::network() const {
    const LinkEstimate link = link_.estimate();
    return {link.gbps, link.alpha_us, ranks_};
}

Learned Learner::learned(uint64_t plan_version, double samples_per_rank) const {
    const LinkEstimate link = link_.estimate();
    return {.plan_version = plan_version,
            .samples_per_rank = samples_per_rank,
            .gbps = link_known_ ? link.gbps : 0,
            .alpha_us = link_known_ ? link.alpha_us : 0,
            .profile = profiler_.profile()};
}

std::optional<Plan> better_plan(const Rule &rule, const Profile &profile, const Network &network,
                                const Plan &old) {
    Plan plan = rule.plan(profile, network);
    const double before = simulate(profile, network, old).iteration_us;
    if (simulate(profile, network, plan).iteration_us >= kWorthIt * before) return std::nullopt;
    return plan;
}

}  // namespace ringrt
