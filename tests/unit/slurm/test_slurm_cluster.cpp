// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster against Slurm's API as it stands here: one job, whose record and answers a test
// sets.
#include <slurm/slurm_errno.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "tests/support/check.h"

using ringrt::controller::Liveness;
using ringrt::controller::Observation;
using ringrt::controller::PendingUpdate;
using ringrt::controller::RpcStatus;
using ringrt::slurm::SlurmCluster;

namespace {

#if RINGRT_SLURM_AT_LEAST(26, 5)
using JobKey = slurm_step_id_t;
#else
using JobKey = uint32_t;
#endif

struct Slurm {
    uint32_t state = JOB_RUNNING;
    int restarts = 0;
    std::string nodes = "n1";
    int pids_answer = ESLURM_INVALID_JOB_ID;
    int batch_start_timeout_s = 10;
    uint32_t nice = NICE_OFFSET, nice_given = NO_VAL;
    uint16_t cpus_per_task = 1, node_cpus_given = 0, node_tasks_given = 0;
    uint32_t tasks_given = 0, sized_by = 0, released_by = 0;
    std::string tres_per_node, node_tres_given;
    std::optional<int64_t> own_nice;  // in the intent: a lower value is lent
    std::function<int(uint32_t)> requeue = [](uint32_t) { return 0; };  // flags -> error
    int update_answer = 0;
    std::vector<std::string> calls;  // that change something
} the_slurm;

// As Slurm's functions answer.
int rc_of(int error) {
    errno = error;
    return error == 0 ? SLURM_SUCCESS : SLURM_ERROR;
}

std::string intent_text() {
    ringrt::records::Intent intent{.gpus_min = 1, .gpus_max = 8, .gpus = 4};
    intent.own_nice = the_slurm.own_nice;
    return ringrt::records::format_into("", intent);
}

job_info_msg_t *one_job() {
    auto *message = new job_info_msg_t{};
    message->record_count = 1;
    slurm_job_info_t &job = *(message->job_array = new slurm_job_info_t{});
#if RINGRT_SLURM_AT_LEAST(25, 11)
    job.step_id.job_id = 7;
#else
    job.job_id = 7;
#endif
    job.job_state = the_slurm.state;
    job.restart_cnt = static_cast<uint16_t>(the_slurm.restarts);
    job.start_time = std::time(nullptr) - 1000;
    job.batch_flag = 1;
    job.nice = the_slurm.nice;
    job.user_id = 4711;
    job.cpus_per_task = the_slurm.cpus_per_task;
    job.priority = 1000;
    job.tres_per_node = strdup(the_slurm.tres_per_node.c_str());
    job.batch_host = strdup("n1");
    job.nodes = strdup(the_slurm.nodes.c_str());
    job.admin_comment = strdup(intent_text().c_str());
    return message;
}

}  // namespace

extern "C" {
int slurm_load_jobs(time_t, job_info_msg_t **out, uint16_t) { return *out = one_job(), 0; }
int slurm_load_job(job_info_msg_t **out, JobKey, uint16_t) { return *out = one_job(), 0; }
void slurm_free_job_info_msg(job_info_msg_t *message) {
    if (message == nullptr) return;
    std::free(message->job_array->batch_host);
    std::free(message->job_array->nodes);
    std::free(message->job_array->tres_per_node);
    delete message->job_array;
    delete message;
}
void slurm_xfree(void **pointer) {
    std::free(*pointer);
    *pointer = nullptr;
}
int slurm_load_node(time_t, node_info_msg_t **out, uint16_t) {
    return *out = new node_info_msg_t{}, 0;
}
void slurm_free_node_info_msg(node_info_msg_t *message) { delete message; }
int slurm_load_partitions(time_t, partition_info_msg_t **out, uint16_t) {
    return *out = new partition_info_msg_t{}, 0;
}
void slurm_free_partition_info_msg(partition_info_msg_t *message) { delete message; }
int slurm_load_reservations(time_t, reserve_info_msg_t **) { return errno = ETIMEDOUT, -1; }
void slurm_free_reservation_info_msg(reserve_info_msg_t *message) { delete message; }
int slurm_load_ctl_conf(time_t, slurm_conf_t **out) {
    *out = new slurm_conf_t{};
    (*out)->batch_start_timeout = static_cast<uint16_t>(the_slurm.batch_start_timeout_s);
    (*out)->msg_timeout = 100;
    return 0;
}
#if RINGRT_SLURM_AT_LEAST(26, 5)
void slurm_free_conf(slurm_conf_t *conf) { delete conf; }
#else
void slurm_free_ctl_conf(slurm_conf_t *conf) { delete conf; }
#endif
int slurm_update_job(job_desc_msg_t *change) {
    the_slurm.nice_given = change->nice;
    if (change->num_tasks != NO_VAL) {
        the_slurm.sized_by = change->user_id;
        the_slurm.tasks_given = change->num_tasks;
        the_slurm.node_tres_given = change->tres_per_node != nullptr ? change->tres_per_node : "";
    }
    if (change->pn_min_cpus != NO_VAL16) the_slurm.node_cpus_given = change->pn_min_cpus;
    if (change->ntasks_per_node != NO_VAL16) the_slurm.node_tasks_given = change->ntasks_per_node;
    if (change->begin_time != 0) the_slurm.released_by = change->user_id;
    return rc_of(the_slurm.update_answer);
}
int slurm_kill_job(JobKey, uint16_t, uint16_t) {
    the_slurm.calls.push_back("cancel");
    the_slurm.state = JOB_CANCELLED;
    return 0;
}
int slurm_requeue(JobKey, uint32_t flags) {
    the_slurm.calls.push_back(flags == JOB_RUNNING ? "requeue" : "requeue ended");
    return rc_of(the_slurm.requeue(flags));
}
#if RINGRT_SLURM_AT_LEAST(25, 11)
int slurm_complete_job(slurm_step_id_t *, uint32_t exit_code) {
#else
int slurm_complete_job(uint32_t, uint32_t exit_code) {
#endif
    the_slurm.calls.push_back(exit_code == 0 ? "complete" : "fail");
    return 0;
}
int slurm_job_step_get_pids(slurm_step_id_t *, char *, job_step_pids_response_msg_t **out) {
    if (the_slurm.pids_answer == 0) *out = new job_step_pids_response_msg_t{};  // of no process
    return the_slurm.pids_answer;
}
void slurm_job_step_pids_response_msg_free(void *message) {
    delete static_cast<job_step_pids_response_msg_t *>(message);
}
}

namespace {

using Calls = std::vector<std::string>;

// It has been seen running.
struct Watched {
    Watched() {
        the_slurm = {};
        look();
    }
    // Jobs are listed anew after 2 ms for each.
    RpcStatus look() {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return cluster.observe(seen);
    }
    SlurmCluster cluster;
    Observation seen;
};

}  // namespace

TEST(only_what_its_node_does_not_know_is_gone) {
    Watched job;
    the_slurm.pids_answer = 0;  // a step without a process has yet to tell how the job ended
    ck_assert(job.cluster.probe_run(7) == Liveness::alive);
    the_slurm.pids_answer = SLURM_ERROR;  // the node did not answer
    ck_assert(job.cluster.probe_run(7) == Liveness::unknown);
    the_slurm.pids_answer = ESLURM_INVALID_JOB_ID;
    ck_assert(job.cluster.probe_run(7) == Liveness::gone);
    ck_assert(job.cluster.probe_run(8) == Liveness::alive);  // not one of ours
    ck_assert(the_slurm.calls.empty());
}

// A node knows of a job's script once its prolog is done.
TEST(what_may_still_be_in_its_prolog_is_not_gone) {
    // It started 1000 s ago; slurmctld is asked for its limits once a minute.
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

TEST(what_ended_or_was_requeued_since_is_left_alone) {
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
    ck_assert(the_slurm.calls == (Calls{"requeue", "requeue ended", "complete", "cancel"}));
    for (int i = 0; i < 3; ++i) ck_assert(job.look() == RpcStatus::ok);
    ck_assert_uint_eq(the_slurm.calls.size(), 4);  // to look changes nothing
    the_slurm.requeue = [](uint32_t) { return static_cast<int>(ETIMEDOUT); };
    ck_assert(job.cluster.requeue_running(7) == RpcStatus::unreachable);
}

TEST(a_waiting_job_with_its_old_nodes_shows) {
    Watched job;
    the_slurm.state = JOB_PENDING;
    job.look();
    ck_assert(!job.seen.jobs.at(0).has_stale_nodes);  // it never ran: they are those it shall get
    the_slurm.restarts = 1;
    job.look();
    ck_assert(job.seen.jobs.at(0).has_stale_nodes);
    the_slurm.nodes.clear();
    job.look();
    ck_assert(!job.seen.jobs.at(0).has_stale_nodes);
}

// I8: what a user or an operator has set comes back as it was.
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

// What an operator sets is above the limits of the job's user, account and QOS.
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
    ck_assert_uint_eq(the_slurm.released_by, 0);  // it waits on, with the size that it had
}

TEST(the_cpus_of_a_node_follow_the_tasks) {
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
    ck_assert_uint_eq(given(8, 7, 2), 32);
    ck_assert_uint_eq(given(NO_VAL16, 4, 1), 4);
    ck_assert_uint_eq(given(60000, 8, 1), NO_VAL16 - 1);
}

// One launcher on each node, and nodes that are alike.
TEST(the_layout_goes_with_the_size) {
    the_slurm = {.cpus_per_task = 6, .tres_per_node = "gres:nic:1,gres:gpu:a100:2"};
    SlurmCluster cluster;
    Observation seen;
    cluster.observe(seen);
    PendingUpdate::Size size{.gpus = 8, .nodes = 2, .cpus = 12, .tasks = 2, .same_nodes = true};
    (void)cluster.update_pending(7, {.size = size});
    ck_assert_uint_eq(the_slurm.tasks_given, 2);
    ck_assert_uint_eq(the_slurm.node_tasks_given, 1);
    ck_assert_uint_eq(the_slurm.node_cpus_given, 6);
    EXPECT_TEXT(the_slurm.node_tres_given, "gres:gpu:a100:4,gres:nic:1");
    size = {.gpus = 4, .nodes = 2, .cpus = 24, .tasks = 4, .same_nodes = false};
    (void)cluster.update_pending(7, {.size = size});
    ck_assert_uint_eq(the_slurm.tasks_given, 4);
    ck_assert_uint_eq(the_slurm.node_tasks_given, 2);
    EXPECT_TEXT(the_slurm.node_tres_given, "");
}

TEST(what_passes_by_itself_is_no_refusal) {
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

int main() { return ringrt::test::run_all("slurm_cluster"); }
