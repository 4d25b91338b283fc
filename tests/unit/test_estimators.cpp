// SPDX-License-Identifier: BSD-3-Clause
// What the simulator's estimators tell policies about jobs.
#include "sim/engine/engine.h"
#include "tests/support/check.h"

using namespace ringrt::sim;

TEST(a_restart_costs_what_the_job_says_and_is_learned) {
    JobSpec own, same, other;
    own.application = same.application = "big";
    other.application = "small";
    own.restart_s = same.restart_s = 200;
    for (JobSpec *spec : {&own, &same, &other}) {
        spec->gpus_max = spec->gpus_limit = 4;
        set_curve(*spec, curve_profile("x", {1}, {1}, 100));
    }
    const SimOptions options{.restart_s = 30, .knowledge = Knowledge::learned};
    ck_assert_double_eq(restart_seconds(own, options), 200);
    ck_assert_double_eq(restart_seconds(other, options), 30);
    const PolicySpec doubling = parse_policy("doubling");
    const auto learned = make_estimator(doubling, options);
    JobState jobs[3];
    const auto believed = [&](std::size_t i) {
        ringrt::policy::Job out;
        jobs[i].spec = i == 0 ? &own : i == 1 ? &same : &other;
        jobs[i].index = i;
        learned->describe(jobs[i], out);
        return out.restart_s;
    };
    ck_assert_double_eq(believed(0), 30);
    learned->restarted(jobs[0], 200);
    ck_assert_double_eq(believed(0), 200);
    ck_assert_double_eq(believed(1), 200);  // as the other of its application, until its own
    learned->restarted(jobs[1], 100);
    ck_assert_double_eq(believed(1), 100);
    ck_assert_double_eq(believed(2), 30);
}

// Jobs of one profile share the curve of their epoch, whatever their limits; the spans of all of
// them point into it until they are described again.
TEST(curves_that_jobs_share_stay_where_they_are) {
    const auto profile = curve_profile("x", {1, 2, 4, 8}, {8, 4, 2, 1}, 100);
    profile->batch = {.initial = 8, .total_max = 8, .local_min = 1, .local_max = 8};
    JobSpec small, large;
    for (JobSpec *spec : {&small, &large}) {
        spec->profile = profile;
        spec->batch = 8;
    }
    small.gpus_max = small.gpus_limit = 2;
    large.gpus_max = large.gpus_limit = 8;
    const SimOptions options{.nodes = 64, .gpus_per_node = 4, .knowledge = Knowledge::oracle};
    for (const char *name : {"goodput@oracle", "doubling@oracle", "optimus"}) {
        const PolicySpec policy = parse_policy(name);
        const auto oracle = make_estimator(policy, options);
        JobState first, second;
        first.spec = &small;
        second.spec = &large;
        second.index = 1;
        ringrt::policy::Job before, other, after;
        oracle->describe(first, before);
        oracle->describe(second, other);
        oracle->describe(first, after);
        ck_assert_msg(before.curve_ms.data() == after.curve_ms.data(), "%s: moved", name);
        ck_assert(before.curve_ms.size() == after.curve_ms.size());
        ck_assert_double_eq_tol(step_ms(other, 8), 1000, 1);
    }
}

int main() {
    return ringrt::test::run_all("estimators", {a_restart_costs_what_the_job_says_and_is_learned,
                                                curves_that_jobs_share_stay_where_they_are});
}
