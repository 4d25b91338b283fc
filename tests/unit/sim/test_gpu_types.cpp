// SPDX-License-Identifier: BSD-3-Clause
// A cluster of several GPU types: doubling within a type, and moves across types.
#include "sim/engine/engine.h"
#include "tests/support/check.h"

using namespace ringrt::sim;

namespace {

// Linear speedup on up to 4 GPUs, with this step time on one GPU of each type.
JobSpec job_of(const char *name, double submit_s, double step_s, double steps) {
    JobSpec job;
    job.name = job.application = name;
    job.submit_s = submit_s;
    job.gpus_asked = job.gpus_max = job.gpus_limit = 4;
    set_curve(job, curve_profile(name, {1, 2, 4}, {step_s, step_s / 2, step_s / 4}, steps));
    return job;
}

struct Site {
    Workload workload;
    SimOptions options{.gpu_types = {{"slow", 1, 4}, {"fast", 1, 4}},
                       .restart_s = 10,
                       .start_s = 0,
                       .interval_s = 10,
                       .knowledge = Knowledge::oracle};

    Site() { workload.gpu_types.resize(2); }
    void add(const char *name, double submit_s, double slow_s, double fast_s, double steps) {
        workload.gpu_types[0].push_back(job_of(name, submit_s, slow_s, steps));
        workload.gpu_types[1].push_back(job_of(name, submit_s, fast_s, steps));
        workload.jobs = workload.gpu_types[0];
    }
    [[nodiscard]] RunResult run() const {
        return simulate(workload, parse_policy("doubling@oracle"), options);
    }
};

}  // namespace

TEST(a_job_doubles_on_the_gpu_type_that_is_fastest_for_it) {
    Site site;
    site.add("a", 0, 4, 1, 1000);
    site.add("b", 0, 1, 4, 1000);
    const RunResult run = site.run();
    for (const JobResult &job : run.jobs) {
        ck_assert_double_eq_tol(job.finish_s, 250, 20.1);
        ck_assert_int_eq(job.restarts, 0);
    }
}

TEST(a_running_job_moves_to_a_faster_gpu_type_when_that_is_free) {
    Site site;
    site.add("first", 0, 4, 1, 400);     // fast: done after 100 s
    site.add("second", 0, 4, 2, 10000);  // slow: 10,000 s; fast: 5,000 s
    const RunResult across = site.run();
    ck_assert_int_ge(across.jobs[1].restarts, 1);
    ck_assert_double_lt(across.jobs[1].finish_s, 5300);
    site.options.moves_gpu_types = false;
    const RunResult within = site.run();
    ck_assert_double_gt(within.jobs[1].finish_s, 9000);
}

TEST(a_move_must_be_worth_its_restart) {
    Site site;
    site.add("first", 0, 4, 1, 400);
    site.add("second", 0, 4, 3.9, 400);  // 400 s or 390
    const RunResult run = site.run();
    ck_assert_int_eq(run.jobs[1].restarts, 0);
}

TEST(a_gpu_type_that_was_never_tried_is_estimated_from_another) {
    Site site;
    site.add("a", 0, 4, 1, 1000);
    site.options.knowledge = Knowledge::learned;
    const PolicySpec doubling = parse_policy("doubling");
    const auto slow = make_estimator(doubling, site.options);
    const auto fast = make_estimator(doubling, site.options);
    Estimator *both[] = {slow.get(), fast.get()};
    slow->meet(both);
    fast->meet(both);
    JobState job;
    job.spec = &site.workload.gpu_types[0][0];
    job.gpus = 1;
    job.starts = 1;
    job.shape = {1};
    job.resume(*job.spec->profile, job.shape, job.spec->batch);
    ringrt::policy::Job out;
    slow->describe(job, out);
    slow->ran(job, 2);
    JobState there;
    there.spec = &site.workload.gpu_types[1][0];
    fast->describe(there, out);
    ck_assert_double_eq_tol(step_ms(out, 1), 1000, 1);  // measured 4 s; four times as fast
    ck_assert_int_eq(out.gpus_cap, 1);                  // as on the type where it was measured
    slow->describe(job, out);
    ck_assert_double_eq_tol(step_ms(out, 1), 4000, 1);
    ck_assert_int_eq(out.gpus_cap, 2);
}

TEST(an_estimator_alone_ignores_other_jobs) {
    Site site;
    site.add("a", 0, 4, 1, 1000);
    site.options.knowledge = Knowledge::alone;
    const auto alone = make_estimator(parse_policy("doubling@alone"), site.options);
    JobState jobs[2];
    for (std::size_t i = 0; i < 2; ++i) {
        jobs[i].spec = &site.workload.jobs[0];
        jobs[i].index = i;
    }
    jobs[0].gpus = 2;
    jobs[0].shape = {2};
    jobs[0].resume(*jobs[0].spec->profile, jobs[0].shape, jobs[0].spec->batch);
    alone->ran(jobs[0], 2);
    ringrt::policy::Job out;
    alone->describe(jobs[0], out);
    ck_assert_int_eq(out.gpus_cap, 8);  // four times its largest size
    ck_assert(!std::isfinite(out.steps_left));
    alone->describe(jobs[1], out);
    ck_assert_int_eq(out.gpus_cap, 1);  // of the same application
}

TEST(measurements_are_per_gpu_type_and_application) {
    const auto tables = [](const std::string &) {
        return std::vector<TextFile>{
            {"app/placements-slow.csv", "placement,local_bsz,step_time,sync_time\n1,8,4,0\n"},
            {"app/placements-fast.csv", "placement,local_bsz,step_time,sync_time\n1,8,1,0\n"},
            {"app/validation-8.csv", "progress,iteration,grad_sqr,grad_var\n100,100,1,1\n"}};
    };
    const TextFile jobs{"w.csv",
                        "name,time,application,num_replicas,batch_size,restart_s,start_s,slowdown\n"
                        "a,0,app,1,8,50,20,1.5\n"};
    for (const auto &[gpu_type, step_s] : {std::pair("slow", 6.0), std::pair("fast", 1.5)}) {
        const Workload workload =
            parse_pollux(jobs, tables, {.gpu_type = gpu_type, .gpus_of_type = 4});
        const JobSpec &job = workload.jobs[0];
        ck_assert_double_eq_tol(plan_step_s(*job.profile, {1}, {.local = 8}), step_s, 1e-9);
        ck_assert_double_eq(job.restart_s, 50);
        ck_assert_double_eq(job.start_s, 20);
    }
    bool refused = false;
    try {
        (void)parse_pollux(jobs, tables, {.gpu_type = "other"});
    } catch (const InputError &) {
        refused = true;
    }
    ck_assert(refused);
}

int main() { return ringrt::test::run_all("gpu_types"); }
