// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster: what it lists, and queries and ends of a job's run.
#include <slurm/slurm_errno.h>

#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "tests/support/check.h"
#include "tests/unit/slurm/one_job.h"

TEST(only_a_run_that_its_node_does_not_have_is_gone) {
    Watched job;
    the_slurm.pids_answer = 0;  // a step without a process has yet to report how the job ended
    ck_assert(job.cluster.probe_run(7) == Liveness::alive);
    the_slurm.pids_answer = SLURM_ERROR;  // the node did not answer
    ck_assert(job.cluster.probe_run(7) == Liveness::unknown);
    the_slurm.pids_answer = ESLURM_INVALID_JOB_ID;
    ck_assert(job.cluster.probe_run(7) == Liveness::gone);
    ck_assert(job.cluster.probe_run(8) == Liveness::alive);  // not a malleable job
    ck_assert(the_slurm.calls.empty());
}

// A node has a job's script once its prolog is done.
TEST(a_run_that_may_be_in_its_prolog_is_not_gone) {
    // It started 1000 s ago. slurmctld is queried for its limits once a minute.
    for (const int timeout_s : {995, 985}) {
        Watched job;
        the_slurm.batch_start_timeout_s = timeout_s;
        ck_assert(job.cluster.probe_run(7) ==
                  (timeout_s > 990 ? Liveness::too_early : Liveness::gone));
    }
    Watched job;
    the_slurm.state = JOB_RUNNING | JOB_CONFIGURING;
    job.look();
    ck_assert(job.cluster.probe_run(7) == Liveness::too_early);
}

TEST(a_run_that_ended_or_was_requeued_meanwhile_is_left_alone) {
    for (const uint32_t state : {JOB_COMPLETE, JOB_PENDING, JOB_FAILED}) {
        Watched job;
        the_slurm.state = state;
        ck_assert(job.cluster.probe_run(7) == Liveness::alive);
        ck_assert(job.cluster.confirm_run(7) == RpcStatus::busy);
    }
    Watched job;
    ck_assert(job.cluster.confirm_run(7) == RpcStatus::ok);
    the_slurm.restarts = 1;  // it runs again
    ck_assert(job.cluster.probe_run(7) == Liveness::alive);
    ck_assert(job.cluster.confirm_run(7) == RpcStatus::busy);
    ck_assert(the_slurm.calls.empty());
}

TEST(each_verb_does_one_thing) {
    Watched job;
    ck_assert(job.cluster.requeue_running(7) == RpcStatus::ok);
    ck_assert(job.cluster.requeue_ended(7) == RpcStatus::ok);
    ck_assert(job.cluster.complete(7) == RpcStatus::ok);
    ck_assert(job.cluster.cancel(7) == RpcStatus::ok);
    ck_assert(the_slurm.calls == (Calls{"requeue", "requeue ended", "complete", "cancel 7"}));
    for (int i = 0; i < 3; ++i) ck_assert(job.look() == RpcStatus::ok);
    ck_assert_uint_eq(the_slurm.calls.size(), 4);  // an observation changes nothing
    the_slurm.requeue = [](uint32_t) { return static_cast<int>(ETIMEDOUT); };
    ck_assert(job.cluster.requeue_running(7) == RpcStatus::unreachable);
}

// The last task of array 7 has that number. For it Slurm would signal all tasks, and it lists the
// steps of all.
TEST(only_the_one_task_of_an_array_is_signalled) {
    Watched job;
    ck_assert(job.cluster.signal_steps(7, 23) == RpcStatus::ok);
    the_slurm.array = 7;
    the_slurm.array_task = 3;
    job.look();
    EXPECT_TEXT(job.seen.jobs.at(0).array_task, "7_3");
    the_slurm.steps_of = {8, 9, 7};
    ck_assert(job.cluster.signal_steps(7, 23) == RpcStatus::ok);
    ck_assert(the_slurm.calls == (Calls{"signal 23 to steps of 7", "signal 23 to steps of 7_3"}));
    the_slurm.steps_of = {8, 9};  // it has no step yet
    ck_assert(job.cluster.signal_steps(7, 23) == RpcStatus::busy);
    // An extension is not a separate malleable job.
    ck_assert(job.cluster.signal_steps(8, 23) == RpcStatus::ok);
    ck_assert(job.cluster.cancel(7) == RpcStatus::ok && job.cluster.cancel(8) == RpcStatus::ok);
    the_slurm.calls.erase(the_slurm.calls.begin(), the_slurm.calls.begin() + 2);
    ck_assert(the_slurm.calls == (Calls{"signal 23 to steps of 8", "cancel 7_3", "cancel 8"}));
}

TEST(a_pending_job_with_its_old_nodes_is_detected) {
    Watched job;
    the_slurm.state = JOB_PENDING;
    job.look();
    ck_assert(!job.seen.jobs.at(0).has_stale_nodes);  // never ran: its future nodes
    the_slurm.restarts = 1;
    job.look();
    ck_assert(job.seen.jobs.at(0).has_stale_nodes);
    the_slurm.nodes.clear();
    job.look();
    ck_assert(!job.seen.jobs.at(0).has_stale_nodes);
}

// A job starts between the listings of nodes and of jobs: it is listed as running, so its CPUs must
// not count as free.
TEST(the_listings_of_nodes_and_jobs_show_the_same_moment) {
    the_slurm = {.node_count = 1};
    SlurmCluster cluster;
    Observation seen;
    the_slurm.before_jobs = [] { the_slurm.cpus_used = 8; };
    ck_assert(cluster.observe(seen) == RpcStatus::ok);
    ck_assert_int_eq(seen.nodes.at(0).cpus_free, 8);
}

TEST(limits_are_queried_with_each_listing) {
    constexpr uint16_t kAssociations = 1, kLimits = 2;
    for (const uint16_t enforce : {kAssociations, kLimits}) {
        Watched job;
        the_slurm.qos = "team";
        the_slurm.enforce = enforce;
        const auto allowed = [&] {
            ck_assert(job.look() == RpcStatus::ok);
            return job.seen.jobs.at(0).gpus_allowed;
        };
        ck_assert(allowed() == (enforce == kLimits ? std::optional(6) : std::nullopt));  // it has 4
        ck_assert_int_eq(the_slurm.limits_asked, enforce == kLimits);
        if (enforce != kLimits) continue;
        the_slurm.used = 6;
        ck_assert(allowed() == 4);
        the_slurm.state = JOB_PENDING;
        ck_assert(allowed() == 0);
        the_slurm.limits_answer = ETIMEDOUT;
        ck_assert(allowed() == std::nullopt);
    }
}

int main() { return ringrt::test::run_all("slurm_cluster"); }
