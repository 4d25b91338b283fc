// SPDX-License-Identifier: BSD-3-Clause
// Policy `plugin`: the controller's own loop on a Slurm in virtual time over whole workloads, and
// the verdict that ringsim derives.
#include <cmath>

#include "sim/slurm/plugin_run.h"
#include "tests/support/check.h"
#include "tools/ringsim/verdict.h"

using namespace ringrt::sim;

namespace {

// A year's dates and three sizes. No job specifies how it scales.
constexpr const char *kSacct =
    "JobID|JobName|User|Submit|Start|ElapsedRaw|TimelimitRaw|AllocTRES|State\n"
    "1|a|ann|2026-11-01T00:00:00|2026-11-01T00:00:10|7200|240|gres/gpu=8,node=1|COMPLETED\n"
    "1.0|a||2026-11-01T00:00:00|2026-11-01T00:00:10|7200||gres/gpu=8,node=1|COMPLETED\n"
    "2|b|bob|2026-11-01T00:10:00|2026-11-01T02:00:10|3600|120|gres/gpu=4,node=1|COMPLETED\n"
    "3|c|bob|2026-11-01T00:20:00|2026-11-01T02:00:10|3600|120|gres/gpu=4,node=1|COMPLETED\n"
    "4|d|cyd|2026-11-01T00:30:00|2026-11-01T00:30:00|60|60|cpu=4,node=1|COMPLETED\n"
    "5|e|cyd|2026-11-20T00:00:00|2026-11-20T00:00:01|1800|60|gres/gpu=8,node=1|COMPLETED\n";

Workload history(double share) {
    const WorkloadOptions options{.cluster_gpus = 8, .gpus_per_node = 8, .malleable_max = 8};
    Workload workload = parse_sacct({"october.txt", kSacct}, options);
    keep_malleable(workload, share, 1);
    return workload;
}

SimOptions one_node() {
    SimOptions options{.nodes = 1, .gpus_per_node = 8, .start_s = 0};
    options.interval_s = 0;
    return options;
}

double jct(const Workload &workload, const RunResult &run, std::size_t job) {
    return run.jobs[job].finish_s - workload.jobs[job].submit_s;
}

}  // namespace

TEST(rigid_jobs_run_as_under_stock_slurm) {
    const Workload workload = history(0);
    const SimOptions options = one_node();
    const RunResult stock = simulate(workload, parse_policy("fifo"), options);
    const RunResult plugin = simulate_plugin(workload, parse_policy("plugin"), options);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        ck_assert_double_eq_tol(plugin.jobs[i].finish_s, stock.jobs[i].finish_s, 3);
        ck_assert_int_eq(plugin.jobs[i].restarts, 0);
    }
}

// An unknown job in an empty cluster starts at its user's size or larger, not at MIN.
TEST(no_job_is_later_where_gpus_are_idle) {
    const Workload workload = history(1);
    const SimOptions options = one_node();
    const RunResult stock = simulate(workload, parse_policy("fifo"), options);
    const RunResult plugin = simulate_plugin(workload, parse_policy("plugin"), options);
    const std::size_t alone = workload.jobs.size() - 1;  // nineteen days after the others
    ck_assert_double_le(jct(workload, plugin, alone), 1.2 * jct(workload, stock, alone));
    const Verdict v = verdict(workload, stock, plugin);
    ck_assert_uint_eq(v.all.jobs, 4);
    ck_assert_double_lt(v.all.change(), -0.05);
}

TEST(every_gpu_is_held_once_and_all_work_is_done) {
    const Workload workload = history(1);
    SimOptions options = one_node();
    options.timeline = true;
    const RunResult run = simulate_plugin(workload, parse_policy("plugin"), options);
    for (const Span &a : run.spans) {
        int held = 0;
        for (const Span &b : run.spans)
            if (b.from_s <= a.from_s && a.from_s < b.to_s) held += b.gpus;
        ck_assert_int_le(held, 8);
    }
    for (const JobResult &job : run.jobs) ck_assert_double_gt(job.finish_s, job.start_s);
}

TEST(a_history_shows_its_cluster_and_what_was_left_out) {
    const Workload workload = history(1);
    ck_assert_uint_eq(workload.notes.steps, 1);
    ck_assert_uint_eq(workload.notes.without_gpus, 1);
    ck_assert(workload.notes.assumes_law && workload.has_dates);
    EXPECT_TEXT(workload.jobs[1].user, "bob");
    ck_assert_double_eq_tol(workload.jobs[1].waited_s, 6610, 1e-9);
    // The assumed law determines what a job could gain.
    WorkloadOptions options{.cluster_gpus = 8, .malleable_max = 8, .parallel = 0.5};
    const Workload slow = parse_sacct({"october.txt", kSacct}, options);
    const auto speed_up = [](const Workload &w) {
        return w.jobs[0].profile->step_time({1}, 1).step_s /
               w.jobs[0].profile->step_time({8}, 1).step_s;
    };
    ck_assert_double_lt(speed_up(slow), speed_up(workload));
}

TEST(the_verdict_names_the_losers) {
    Workload workload{.name = "w", .jobs = {}};
    RunResult before{.policy = "fifo"}, after{.policy = "plugin"};
    for (int i = 0; i < 4; ++i) {
        JobSpec job;
        job.name = "j" + std::to_string(i);
        job.user = i < 2 ? "ann" : "bob";
        job.gpus_asked = 1 << i;
        workload.jobs.push_back(job);
        before.jobs.push_back({.start_s = 50, .finish_s = 100});
        after.jobs.push_back({.start_s = 0, .finish_s = i == 3 ? 270.0 : 40.0});
    }
    const Verdict v = verdict(workload, before, after);
    EXPECT_TEXT(one_line(v),
                "plugin against fifo: mean -3 %; 1 of 4 jobs later, worst 2.7x, job j3; waiting "
                "0.01 h -> 0.00 h");
    EXPECT_TEXT(v.worst_job, "j3");
    ck_assert_uint_eq(v.sizes.size(), 4);
    ck_assert(details(v).find("users whose mean is later: bob") != std::string::npos);
}

int main() { return ringrt::test::run_all("plugin_run"); }
