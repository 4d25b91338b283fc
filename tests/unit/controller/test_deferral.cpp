// SPDX-License-Identifier: BSD-3-Clause
// Where restarts are expensive, a resize that no pending job needs is asked only after it has been
// wanted for some time.
#include <algorithm>

#include "slurm_plugin/policy/value.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
namespace policy = ringrt::policy;

namespace {

constexpr double kRigid_s = 30;
constexpr Program kLong{.steps = 30000};

Options with_restart(double restart_s) {
    Options options = quick_options();
    options.restart_s = restart_s;
    return options;
}

// When a job that runs beside a rigid one is asked to grow, after the end of that one.
double growth_after_s(double restart_s) {
    World world({4, 4}, with_restart(restart_s));
    const uint32_t rigid = world.cluster.submit_rigid(4, kRigid_s);
    world.run(5);
    world.cluster.submit_malleable(1, 8, kLong);
    world.run_until([&] { return world.cluster.job(rigid).phase == JobPhase::finished; }, 60);
    return world.run_until([&] { return world.cluster.count(EventKind::asked) > 0; }, 1000);
}

}  // namespace

TEST(deferral_is_the_restart_without_what_a_size_pays_back) {
    const policy::Options options;
    const auto deferral = [&](double restart_s) {
        return policy::deferral_s({.restart_s = restart_s}, options);
    };
    ck_assert(deferral(0) == 0 && deferral(30) == 0 && deferral(100) == 0);
    ck_assert(deferral(121) == 21);
    ck_assert(deferral(600) == 500);
    const policy::Options steady{.size_lasts_s = 4000};
    ck_assert(policy::deferral_s({.restart_s = 600}, steady) == 0);
}

TEST(a_growth_waits_while_other_jobs_may_use_the_gpus) {
    const double cheap_s = growth_after_s(10);
    ck_assert(cheap_s >= 0 && cheap_s < 30);
    const double expensive_s = growth_after_s(300);  // 300 s less 100 s
    ck_assert(expensive_s >= 195 && expensive_s < 230);
}

TEST(a_job_that_arrives_gets_the_gpus_without_a_restart) {
    World world({4, 4}, with_restart(300));
    const uint32_t rigid = world.cluster.submit_rigid(4, kRigid_s);
    world.run(5);
    world.cluster.submit_malleable(1, 8, kLong);
    world.run_until([&] { return world.cluster.job(rigid).phase == JobPhase::finished; }, 60);
    world.run(100);
    const uint32_t late = world.cluster.submit_malleable(1, 8, kLong);
    world.run(600);
    ck_assert(world.cluster.job(late).gpus_requested == 4);
    ck_assert(world.cluster.count(EventKind::asked) == 0);
}

TEST(a_shrink_for_a_pending_job_is_asked_at_once) {
    for (const bool is_rigid : {false, true}) {
        World world({4, 4}, with_restart(300));
        world.cluster.submit_malleable(1, 8, kLong);
        world.run(60);
        if (is_rigid)
            world.cluster.submit_rigid(4, 1000);
        else
            world.cluster.submit_malleable(1, 8, kLong);
        const double asked_s =
            world.run_until([&] { return world.cluster.count(EventKind::asked) > 0; }, 1000);
        ck_assert(asked_s >= 0 && asked_s < 30);
    }
}

TEST(the_wait_is_explained) {
    World world({4, 4}, with_restart(300));
    const uint32_t rigid = world.cluster.submit_rigid(4, kRigid_s);
    world.run(5);
    const uint32_t id = world.cluster.submit_malleable(1, 8, kLong);
    world.run_until([&] { return world.cluster.job(rigid).phase == JobPhase::finished; }, 60);
    world.run(20);
    const auto all = world.controller->explanations();
    ck_assert(all.has_value());
    const auto found = std::ranges::find(*all, id, &Explanation::job_id);
    ck_assert(found != all->end() && found->text.find("; not for another 1") != std::string::npos);
}

int main() { return ringrt::test::run_all("deferral"); }
