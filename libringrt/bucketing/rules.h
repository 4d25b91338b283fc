// SPDX-License-Identifier: BSD-3-Clause
// Each grouping rule is a pure function from a profile and a network to a plan, in its own small
// file. If a rule's authors tune its constants, they are tuned here too: over the grid in its file,
// with the model that rates the plans. So each rule is compared at its best.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/plan.h"
#include "libringrt/bucketing/profile.h"
#include "libringrt/bucketing/timeline.h"

namespace ringrt::bucketing {

Plan fifo(const Profile &profile, const Network &network);
Plan ddp(const Profile &profile, const Network &network);
Plan fusion(const Profile &profile, const Network &network);
Plan mgwfbp(const Profile &profile, const Network &network);
Plan tictac(const Profile &profile, const Network &network);
Plan p3(const Profile &profile, const Network &network);
Plan bytescheduler(const Profile &profile, const Network &network);
Plan priority(const Profile &profile, const Network &network);
Plan dear(const Profile &profile, const Network &network);
Plan prophet(const Profile &profile, const Network &network);
Plan predictive(const Profile &profile, const Network &network);

class BestPlan;

// The same rules, but only plans that may be faster than the best so far are built. Each offers the
// plans of its grid to `best`, which was made for the same profile and network.
void offer_p3(const Profile &profile, const Network &network, BestPlan &best);
void offer_priority(const Profile &profile, const Network &network, BestPlan &best);
void offer_dear(const Profile &profile, const Network &network, BestPlan &best);
void offer_prophet(const Profile &profile, const Network &network, BestPlan &best);

struct Rule {
    std::string_view name;
    std::string_view summary;
    Plan (*plan)(const Profile &, const Network &);
};

// All rules; ringrt's own comes last.
[[nodiscard]] std::span<const Rule> all_rules();

[[nodiscard]] std::string rule_names();  // "fifo, ddp, ... or predictive"
// The rule of that name, or nullptr.
[[nodiscard]] const Rule *find_rule(std::string_view name);

// Keeps the plan with the shortest iteration of those offered; the first of equals.
class BestPlan {
  public:
    BestPlan(const Profile &profile, const Network &network);
    void offer(Plan plan);
    // False if no plan that reduces the gradients in at least `blocks` blocks is faster than the
    // best: after the first gradient is ready, the link is held for all bytes and all start-ups,
    // and the last layer with a gradient runs after that.
    [[nodiscard]] bool can_improve(uint64_t blocks) const;
    [[nodiscard]] double iteration_us() const { return best_us_; }
    [[nodiscard]] Plan take() { return std::move(best_); }

  private:
    const Profile &profile_;
    const Network &network_;
    Plan best_;
    double best_us_ = -1;
    double without_start_ups_us_ = 0;  // no plan's iteration is shorter
    Timeline timeline_;                // of the last plan; reuses its memory
};

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

}  // namespace ringrt::bucketing
