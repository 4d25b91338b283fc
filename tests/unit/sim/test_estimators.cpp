// SPDX-License-Identifier: BSD-3-Clause
// What the simulator's estimators report to policies about jobs.
#include <cmath>

#include "sim/engine/engine.h"
#include "sim/engine/gradients.h"
#include "tests/support/check.h"

using namespace ringrt::sim;

TEST(a_restart_costs_what_the_job_specifies_and_is_learned) {
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
    ck_assert_double_eq(believed(1), 200);  // like the other job of its application
    learned->restarted(jobs[1], 100);
    ck_assert_double_eq(believed(1), 100);
    ck_assert_double_eq(believed(2), 30);
}

// Jobs of one profile share their epoch's curve, whatever their limits. All their spans point into
// it until the jobs are described again.
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

namespace {

JobSpec slow_steps(double step_s, double steps) {
    JobSpec job;
    job.name = job.application = "slow";
    job.gpus_asked = job.gpus_max = job.gpus_limit = 8;
    set_curve(job, curve_profile("slow", {1, 2, 4, 8}, {step_s, step_s / 2, step_s / 4, step_s / 8},
                                 steps));
    return job;
}

}  // namespace

// A job whose step takes longer than the interval between two decisions must be measured, so that
// it does not stay on one GPU.
TEST(a_step_longer_than_the_interval_is_measured) {
    const Workload workload{.name = "slow", .jobs = {slow_steps(25, 400)}};
    SimOptions options{.nodes = 1, .gpus_per_node = 8, .knowledge = Knowledge::learned};
    options.interval_s = 60;
    const double seldom = simulate(workload, parse_policy("doubling"), options).jobs[0].finish_s;
    options.interval_s = 10;
    const double often = simulate(workload, parse_policy("doubling"), options).jobs[0].finish_s;
    ck_assert_double_le(often, 1.1 * seldom);
}

// At a size at which a job has run, its measured step time counts, not the fit's.
TEST(measurements_take_precedence_over_the_fit) {
    const PolicySpec doubling = parse_policy("doubling");
    const SimOptions options{.nodes = 1, .gpus_per_node = 8, .knowledge = Knowledge::learned};
    const auto learned = make_estimator(doubling, options);
    // No model of this form has two GPUs three times as slow as one, and four as fast as one.
    JobSpec spec = slow_steps(1, 1000);
    const double seconds[] = {1, 3, 1, 0.9};
    JobState job;
    job.spec = &spec;
    for (int i = 0; i < 4; ++i) {
        job.gpus = 1 << i;
        job.shape = {static_cast<uint8_t>(job.gpus)};
        job.plan = split_batch(spec.profile->batch, spec.batch, job.gpus);
        job.step_s = seconds[i];
        learned->ran(job, 5);
    }
    ringrt::policy::Job out;
    learned->describe(job, out);
    for (int i = 0; i < 4; ++i)
        ck_assert_double_eq_tol(ringrt::policy::step_ms(out, 1 << i), 1000 * seconds[i], 1);
}

// A job that shares its measurements explores in steps of two. One that learns alone pays for each
// stage with its own restart, so it starts on one GPU and takes steps of four.
TEST(a_job_that_learns_alone_grows_faster) {
    const PolicySpec doubling = parse_policy("doubling");
    JobSpec spec = slow_steps(1, 1000);
    for (const bool alone : {false, true}) {
        SimOptions options{.nodes = 8, .gpus_per_node = 8};
        options.knowledge = alone ? Knowledge::alone : Knowledge::learned;
        const auto learned = make_estimator(doubling, options);
        JobState job;
        job.spec = &spec;
        ringrt::policy::Job out;
        learned->describe(job, out);
        ck_assert_int_eq(out.gpus_cap, alone ? 1 : spec.gpus_asked);
        job.gpus = 2;
        job.shape = {2};
        job.plan = split_batch(spec.profile->batch, spec.batch, 2);
        job.step_s = 0.5;
        learned->ran(job, 5);
        learned->describe(job, out);
        ck_assert_int_eq(out.gpus_cap, alone ? 8 : 4);
    }
}

// A wrong curve stays wrong; a wrong prior is corrected, for this job, at the sizes at which it has
// run a whole step.
TEST(a_measurement_corrects_a_prior) {
    JobSpec spec = slow_steps(1, 1000);
    for (const bool corrects : {false, true}) {
        const PolicySpec policy = parse_policy(corrects ? "doubling@prior" : "doubling@wrong");
        const SimOptions options{
            .nodes = 1, .gpus_per_node = 8, .knowledge = policy.knowledge, .wrong_by = 0.3};
        const auto estimator = make_estimator(policy, options);
        JobState jobs[2];
        const auto believed_ms = [&](std::size_t i, int gpus) {
            ringrt::policy::Job out;
            jobs[i].spec = &spec;
            jobs[i].index = i;
            estimator->describe(jobs[i], out);
            return double(ringrt::policy::step_ms(out, gpus));
        };
        const double first = believed_ms(0, 2), larger = believed_ms(0, 4),
                     other = believed_ms(1, 2);
        ck_assert_double_gt(std::abs(first - 500), 1);
        JobState &job = jobs[0];
        job.gpus = 2;
        job.starts = 1;
        job.step_s = 0.5;
        estimator->ran(job, 0.6);
        ck_assert_double_eq(believed_ms(0, 2), first);
        job.starts = 2;  // a step that a restart cut is no step
        estimator->ran(job, 0.6);
        ck_assert_double_eq(believed_ms(0, 2), first);
        estimator->ran(job, 0.6);
        ck_assert_double_eq_tol(believed_ms(0, 2), corrects ? 500 : first, 1e-3);
        ck_assert_double_eq(believed_ms(0, 4), larger);
        ck_assert_double_eq(believed_ms(1, 2), other);
    }
}

namespace {

// One job of 1,000 steps of 8 samples. A step takes a second, whatever its batch, and the gradient
// is all noise: the larger the batch, the sooner the job ends. `at_largest`: the square and the
// variance of its gradient with a batch of 65,536.
Workload noisy_job(const std::string &application, const std::string &at_largest = "0,1") {
    const auto tables = [&](const std::string &name) {
        return std::vector<TextFile>{
            {name + "/placements.csv",
             "placement,local_bsz,step_time,sync_time\n1,8,1,0\n1,64,1,0\n1,65536,1,0\n"},
            {name + "/validation-8.csv", "progress,iteration,grad_sqr,grad_var\n1000,1000,0,1\n"},
            {name + "/validation-65536.csv",
             "progress,iteration,grad_sqr,grad_var\n1000,1000," + at_largest + "\n"}};
    };
    Workload workload = parse_pollux(
        {"w.csv", "name,time,application,num_replicas,batch_size\na,0," + application + ",1,8\n"},
        tables, {});
    workload.name = application;
    return workload;
}

}  // namespace

// The first batch is chosen without a measurement; a training of one epoch must not keep it.
TEST(a_job_chooses_its_batch_again_once_it_is_measured) {
    const SimOptions options{.nodes = 1, .gpus_per_node = 1, .knowledge = Knowledge::alone};
    const RunResult run = simulate(noisy_job("app"), parse_policy("goodput@alone"), options);
    ck_assert_double_le(run.jobs[0].finish_s, 300);
}

// It cannot know its work left. The expectation counts seconds of its own, and grows with its age.
TEST(a_job_that_learns_alone_expects_work_by_its_speed_and_age) {
    const Workload workload = noisy_job("app");
    for (const char *name : {"goodput@alone", "doubling@alone"}) {
        const PolicySpec policy = parse_policy(name);
        const SimOptions options{.nodes = 1, .gpus_per_node = 1, .knowledge = Knowledge::alone};
        const auto alone = make_estimator(policy, options);
        JobState job;
        job.spec = &workload.jobs[0];
        ringrt::policy::Job out;
        alone->describe(job, out);
        ck_assert(!std::isfinite(out.steps_left));
        job.gpus = 1;
        job.shape = {1};
        job.plan = {.local = 8, .passes = 1};
        job.step_s = 0.5;
        alone->ran(job, 5);
        for (const double done : {0.0, 400.0}) {
            job.progress = done;
            alone->describe(job, out);
            ck_assert(std::isfinite(out.steps_left) == policy.adapts_batch);
            if (!policy.adapts_batch) continue;
            const double seconds = (out.steps_left - done / 2) * step_ms(out, 1) / 1000;
            ck_assert_double_eq_tol(seconds, 3000, 1);
        }
    }
}

TEST(beyond_the_measured_batches_the_nearest_gradient_holds) {
    Gradients gradients;
    gradients.note(3, 8, {.square = 1, .variance = 4});
    gradients.note(3, 16, {.square = 2, .variance = 6});
    const Gradient other{.square = 9, .variance = 9};
    ck_assert_double_eq(gradients.at(3, 4, other).square, 1);
    ck_assert_double_eq(gradients.at(3, 12, other).variance, 5);
    ck_assert_double_eq(gradients.at(3, 99, other).square, 2);
    ck_assert_double_eq(gradients.at(4, 8, other).square, 9);
}

// A job extrapolates from the noise at its own batch, unless another measured it at a larger one.
TEST(jobs_of_an_application_share_their_gradient_noise) {
    const Workload workload = noisy_job("app", "1,0");
    for (const char *name : {"goodput", "goodput@alone"}) {
        const PolicySpec policy = parse_policy(name);
        const SimOptions options{.nodes = 1, .gpus_per_node = 1, .knowledge = policy.knowledge};
        const auto learned = make_estimator(policy, options);
        JobState jobs[2];
        for (std::size_t i : {0, 1}) {
            jobs[i].spec = &workload.jobs[0];
            jobs[i].index = i;
            jobs[i].gpus = 1;
            jobs[i].shape = {1};
            jobs[i].step_s = 1;
        }
        jobs[0].plan = {.local = 8, .passes = 1};
        learned->ran(jobs[0], 5);
        ck_assert_int_eq(learned->choose_batch(jobs[0], {1}).total(1), 65536);
        jobs[1].plan = {.local = 32768, .passes = 2};
        learned->ran(jobs[1], 5);
        const int batch = learned->choose_batch(jobs[0], {1}).total(1);
        if (policy.knowledge == Knowledge::alone)
            ck_assert_int_eq(batch, 65536);
        else
            ck_assert_int_le(batch, 2000);
    }
}

// Pollux's simulator gives ncf one batch, which its user chose: it is not explored.
TEST(an_application_with_one_batch_has_it_from_the_start) {
    const Workload workload = noisy_job("ncf");
    ck_assert_int_eq(workload.jobs[0].adaptive_batch, 32768);
    ck_assert_int_eq(noisy_job("app").jobs[0].adaptive_batch, 0);
    for (const char *name : {"goodput@alone", "goodput@oracle"}) {
        SimOptions options{.nodes = 1, .gpus_per_node = 1};
        options.knowledge = parse_policy(name).knowledge;
        // After the start: a step of 32,768 samples is 4,096 steps of 8, in two passes of a second.
        const JobResult job = simulate(workload, parse_policy(name), options).jobs[0];
        ck_assert_double_eq_tol(job.finish_s - job.start_s, 30 + 2 * 1000.0 / 4096, 1e-3);
    }
}

int main() { return ringrt::test::run_all("estimators"); }
