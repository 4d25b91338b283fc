// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster: updates of a job.
#include <slurm/slurm_errno.h>

#include "slurm_plugin/controller/lent_exclusions.h"
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "tests/support/check.h"
#include "tests/unit/slurm/one_job.h"

using ringrt::records::kMailBegin;
using ringrt::records::kMailRequeue;
using ringrt::records::kRunMailsAll;
using ringrt::records::RunMails;

// I8: a value that a user or an operator has set is restored.
TEST(a_nice_value_is_lowered_once_and_given_back) {
    const auto given = [](uint32_t nice, std::optional<int64_t> own, const PendingUpdate &update) {
        the_slurm = {.nice = nice, .own_nice = own};
        SlurmCluster cluster;
        Observation seen;
        cluster.observe(seen);
        (void)cluster.update_pending(7, update);
        return the_slurm.nice_given;
    };
    constexpr uint32_t kBoosted = NICE_OFFSET - 100'000, kLent = NICE_OFFSET - 1'000'000;
    ck_assert_uint_eq(given(kBoosted, {}, {}), NO_VAL);
    ck_assert_uint_eq(given(kBoosted, {}, {.first_in_queue = true}), kBoosted - 1'000'000);
    ck_assert_uint_eq(given(NICE_OFFSET, {}, {.first_in_queue = true}), kLent);
    ck_assert_uint_eq(given(kLent, 0, {.first_in_queue = true}), NO_VAL);
    ck_assert_uint_eq(given(kLent, 0, {}), NO_VAL);
    ck_assert_uint_eq(given(kLent, 0, {.nice = 5000}), NICE_OFFSET + 5000);
}

// I8 again: a resize changes only the mail types about runs.
TEST(mails_about_runs_are_suppressed_and_restored) {
    constexpr uint16_t kOthers = MAIL_JOB_END | MAIL_JOB_FAIL | MAIL_JOB_TIME80;
    constexpr uint16_t kAll = kOthers | MAIL_JOB_BEGIN | MAIL_JOB_REQUEUE;
    const auto given = [](uint16_t type, std::optional<RunMails> mails, RunMails shown) {
        the_slurm = {.mail_type = type};
        SlurmCluster cluster;
        Observation seen;
        cluster.observe(seen);
        ck_assert_uint_eq(seen.jobs.at(0).run_mails, shown);
        ck_assert(cluster.write_intent(7, "", {.run_mails = mails}) == RpcStatus::ok);
        return the_slurm.mail_type_given;
    };
    ck_assert_uint_eq(given(kAll, {}, kRunMailsAll), NO_VAL16);
    ck_assert_uint_eq(given(kAll, RunMails{0}, kRunMailsAll), kOthers);
    ck_assert_uint_eq(given(MAIL_JOB_BEGIN, RunMails{0}, kMailBegin), 0);
    ck_assert_uint_eq(given(kOthers, kRunMailsAll, 0), kAll);
    ck_assert_uint_eq(given(0, kMailRequeue, 0), MAIL_JOB_REQUEUE);
}

// A pending, held job with a lent nice value.
void be_held(uint32_t reason) {
    the_slurm = {.state = JOB_PENDING, .nice = NICE_OFFSET - 1000, .own_nice = 0};
    the_slurm.priority = 0;
    the_slurm.reason = reason;
}

TEST(a_hold_survives_the_return_of_a_lent_nice_value) {
    for (const uint32_t reason : {uint32_t{WAIT_HELD_USER}, uint32_t{WAIT_HELD}}) {
        Watched job;
        be_held(reason);
        the_slurm.begin = 4000;
        time_t earliest = std::time(nullptr) + 1000;
        the_slurm.before_update = [&] {
            if (the_slurm.priority != 0) earliest = std::min(earliest, the_slurm.begin);
        };
        job.look();
        ck_assert(job.cluster.write_intent(7, "", {.nice = 0}) == RpcStatus::ok);
        ck_assert_uint_eq(the_slurm.nice, NICE_OFFSET);
        ck_assert_uint_eq(the_slurm.priority, 0);
        ck_assert_uint_eq(the_slurm.reason, reason);
        ck_assert_int_eq(the_slurm.begin, 4000);
        ck_assert_int_gt(earliest, std::time(nullptr) + 30);  // it could not start in between
    }
}

TEST(a_job_that_was_held_meanwhile_is_not_released) {
    const auto hold = [] { the_slurm.priority = 0, the_slurm.reason = WAIT_HELD_USER; };
    for (const bool in_the_last_moment : {false, true}) {
        Watched job;
        the_slurm.state = JOB_PENDING;
        job.look();
        if (in_the_last_moment)
            the_slurm.before_update = hold;
        else
            hold();
        ck_assert(job.cluster.update_pending(7, {.first_in_queue = true}) == RpcStatus::busy);
        ck_assert_uint_eq(the_slurm.priority, 0);
        ck_assert_uint_eq(the_slurm.nice, NICE_OFFSET);
    }
}

// slurmctld stops an update if a hold intervenes, and has then set the record already. A record
// without the lent value would leave that value to the job permanently.
TEST(a_lent_nice_value_stays_in_the_record_until_it_is_given_back) {
    Watched job;
    the_slurm = {.state = JOB_PENDING, .nice = NICE_OFFSET - 1000, .own_nice = 0};
    job.look();
    the_slurm.before_update = [] { the_slurm.priority = 0, the_slurm.reason = WAIT_HELD_USER; };
    ck_assert(job.cluster.write_intent(7, "nothing lent", {.nice = 0}) == RpcStatus::busy);
    EXPECT_TEXT(the_slurm.comment_given, "");
    the_slurm.before_update = [] {};
    ck_assert(job.cluster.write_intent(7, "nothing lent", {.nice = 0}) == RpcStatus::ok);
    EXPECT_TEXT(the_slurm.comment_given, "nothing lent");
    ck_assert_uint_eq(the_slurm.nice, NICE_OFFSET);
    ck_assert_uint_eq(the_slurm.priority, 0);
}

// Another priority would count as an operator's permanently.
TEST(a_priority_that_grows_with_age_is_left_alone) {
    Watched job;
    the_slurm.state = JOB_PENDING;
    the_slurm.priority_type = "priority/multifactor";
    job.look();
    the_slurm.before_update = [] { ++the_slurm.priority; };
    ck_assert(job.cluster.update_pending(7, {.first_in_queue = true}) == RpcStatus::ok);
    ck_assert_uint_eq(the_slurm.priority, 1001);
    be_held(WAIT_HELD_USER);
    the_slurm.priority_type = "priority/multifactor";
    ck_assert(job.cluster.write_intent(7, "", {.nice = 0}) == RpcStatus::ok);
    ck_assert_uint_eq(the_slurm.priority, 0);
}

// An operator's setting overrides the limits of the job's user, account and QOS.
TEST(a_size_is_set_in_the_owners_name) {
    the_slurm = {};
    SlurmCluster cluster;
    Observation seen;
    ck_assert(cluster.observe(seen) == RpcStatus::ok);
    const PendingUpdate update{.size = PendingUpdate::Size{4, 1, 4}, .begin_s = 1000};
    ck_assert(cluster.update_pending(7, update) == RpcStatus::ok);
    ck_assert_uint_eq(the_slurm.sized_by, 4711);
    job_desc_msg_t untouched;
    slurm_init_job_desc_msg(&untouched);
    ck_assert_uint_eq(the_slurm.released_by, untouched.user_id);
    the_slurm.released_by = 0;
    the_slurm.update_answer = ESLURM_ACCOUNTING_POLICY;
    ck_assert(cluster.update_pending(7, update) == RpcStatus::refused);
    ck_assert_uint_eq(the_slurm.released_by, 0);  // it stays pending with its previous size
}

TEST(the_cpus_of_a_node_scale_with_the_tasks) {
    const auto given = [](uint16_t cpus_per_task, int gpus, int nodes) {
        the_slurm = {.cpus_per_task = cpus_per_task};
        SlurmCluster cluster;
        Observation seen;
        cluster.observe(seen);
        (void)cluster.update_pending(7,
                                     {.size = PendingUpdate::Size{.gpus = gpus, .nodes = nodes}});
        return the_slurm.node_cpus_given;
    };
    ck_assert_uint_eq(given(1, 2, 1), 2);
    ck_assert_uint_eq(given(8, 4, 2), 16);
    ck_assert_uint_eq(given(8, 8, 2), 32);
    ck_assert_uint_eq(given(NO_VAL16, 4, 1), 4);
    ck_assert_uint_eq(given(60000, 8, 1), NO_VAL16 - 1);
}

// One launcher on each node, and nodes that are alike.
TEST(the_layout_is_set_with_the_size) {
    the_slurm = {.cpus_per_task = 6, .tres_per_node = "gres:nic:1,gres:gpu:a100:2"};
    SlurmCluster cluster;
    Observation seen;
    cluster.observe(seen);
    PendingUpdate::Size size{.gpus = 8, .nodes = 2, .cpus = 12, .tasks = 2};
    (void)cluster.update_pending(7, {.size = size});
    ck_assert_uint_eq(the_slurm.tasks_given, 2);
    ck_assert_uint_eq(the_slurm.node_tasks_given, 1);
    ck_assert_uint_eq(the_slurm.node_cpus_given, 6);
    EXPECT_TEXT(the_slurm.node_tres_given, "gres:gpu:a100:4,gres:nic:1");
    size = {.gpus = 4, .nodes = 2, .cpus = 24, .tasks = 4};
    (void)cluster.update_pending(7, {.size = size});
    ck_assert_uint_eq(the_slurm.tasks_given, 4);
    ck_assert_uint_eq(the_slurm.node_tasks_given, 2);
    EXPECT_TEXT(the_slurm.node_tres_given, "gres:gpu:a100:2,gres:nic:1");
}

// Each node's share of the GPUs changes with the size.
TEST(a_share_of_a_node_changes_with_the_size) {
    for (const char *before : {"gres:gpu:4", ""}) {
        the_slurm = {.tres_per_node = before};
        SlurmCluster cluster;
        Observation seen;
        cluster.observe(seen);
        const PendingUpdate::Size size{.gpus = 6, .nodes = 2, .cpus = 6, .tasks = 6};
        (void)cluster.update_pending(7, {.size = size});
        EXPECT_TEXT(the_slurm.node_tres_given, *before ? "gres:gpu:3" : "gres/gpu:3");
    }
}

// By name, and taken back: only the list in the record.
TEST(excluded_nodes_are_lent_and_taken_back) {
    const auto look = [](SlurmCluster &cluster) {
        Observation seen;
        ck_assert(cluster.observe(seen) == RpcStatus::ok);
        ck_assert_uint_eq(seen.nodes.size(), 4);
        return seen;
    };
    the_slurm = {.state = JOB_PENDING, .node_count = 4};
    SlurmCluster cluster;
    Observation seen = look(cluster);
    const uint64_t constraints = seen.jobs.at(0).constraints;
    ck_assert(cluster.update_pending(7, {}) == RpcStatus::ok);
    EXPECT_TEXT(the_slurm.excluded_given, kAsItIs);
    ck_assert(cluster.update_pending(7, {.excluded_nodes = std::vector{1, 2}}) == RpcStatus::ok);
    EXPECT_TEXT(the_slurm.excluded_given, "n2,n3");
    ck_assert(cluster.update_pending(7, {.excluded_nodes = std::vector<int>{}}) == RpcStatus::ok);
    EXPECT_TEXT(the_slurm.excluded_given, "");
    the_slurm.excluded_given = kAsItIs;
    ck_assert(cluster.write_intent(7, "", {}) == RpcStatus::ok);
    EXPECT_TEXT(the_slurm.excluded_given, kAsItIs);
    ck_assert(cluster.write_intent(7, "", {.no_excluded_nodes = true}) == RpcStatus::ok);
    EXPECT_TEXT(the_slurm.excluded_given, "");

    const uint32_t lent = ringrt::controller::checksum_of({1, 2}, seen.nodes);
    for (const bool is_ours : {true, false}) {
        the_slurm = {.state = JOB_PENDING, .node_count = 4};
        the_slurm.excluded[0] = 1;
        the_slurm.excluded[1] = is_ours ? 2 : 3;
        the_slurm.exclusions_checksum = lent;
        SlurmCluster another;
        const Observation shown = look(another);
        ck_assert(shown.jobs.at(0).lent_exclusions.empty() != is_ours);
        ck_assert_uint_eq(shown.jobs.at(0).excluded_nodes.size(), is_ours ? 0 : 3);
        ck_assert((shown.jobs.at(0).constraints == constraints) == is_ours);
    }
}

TEST(a_temporary_error_is_not_a_refusal) {
    Watched job;
    for (const int error : {int(ESLURM_JOB_NOT_PENDING), ringrt::slurm::kSettingDbIndex}) {
        the_slurm.update_answer = error;
        ck_assert(job.cluster.update_pending(7, {.size = PendingUpdate::Size{4, 1, 4}}) ==
                  RpcStatus::busy);
    }
    the_slurm.update_answer = ESLURM_ACCESS_DENIED;
    ck_assert(job.cluster.update_pending(7, {.size = PendingUpdate::Size{4, 1, 4}}) ==
              RpcStatus::refused);
}

int main() { return ringrt::test::run_all("slurm_updates"); }
