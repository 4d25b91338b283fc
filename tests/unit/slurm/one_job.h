// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's API as SlurmCluster calls it: one job, whose record and answers a test sets. Exactly one
// file of a program includes it.
#pragma once

#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
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

constexpr char kAsItIs[] = "as it is";  // a field that the update leaves out

struct Slurm {
    uint32_t state = JOB_RUNNING;
    int restarts = 0;
    std::string nodes = "n1";
    int pids_answer = ESLURM_INVALID_JOB_ID;
    int batch_start_timeout_s = 10;
    uint32_t nice = NICE_OFFSET, nice_given = NO_VAL;
    std::string comment_given;
    uint16_t mail_type = 0, mail_type_given = NO_VAL16;
    uint32_t priority = 1000, reason = WAIT_NO_REASON;  // priority 0: held
    const char *priority_type = "priority/basic";
    time_t begin = 0;                             // earliest start
    std::function<void()> before_update = [] {};  // what others do meanwhile
    uint16_t cpus_per_task = 1, node_cpus_given = 0, node_tasks_given = 0;
    uint32_t tasks_given = 0, sized_by = 0, released_by = 0;
    std::string tres_per_node, node_tres_given;  // the values given: kAsItIs if none was
    std::optional<int64_t> own_nice;             // in the intent: a lower value is lent
    int node_count = 0;                          // n1, n2, ..., each of 16 CPUs
    uint16_t cpus_used = 0;                      // of each
    std::function<void()> before_jobs = [] {};   // what happens before jobs are listed
    std::string excluded_given = kAsItIs;
    int32_t excluded[3] = {-1, -1, -1};  // a range of nodes, as Slurm lists it
    uint32_t exclusions_checksum = 0;    // in the intent: the checksum of such a list
    std::function<int(uint32_t)> requeue = [](uint32_t) { return 0; };  // flags -> error
    int update_answer = 0;
    uint16_t enforce = 0;  // from AccountingStorageEnforce
    std::string qos;
    uint32_t array = 0, array_task = 0;
    std::vector<uint32_t> steps_of{7};  // one running step each; an array's: all
    uint64_t limit = 6, used = 4;       // GPUs of the QOS
    int limits_answer = 0, limits_asked = 0;
    std::vector<std::string> calls;  // calls that change something
} the_slurm;

// Returns errors like Slurm's functions.
int rc_of(int error) {
    errno = error;
    return error == 0 ? SLURM_SUCCESS : SLURM_ERROR;
}

constexpr uint32_t kUserPriority = 5000;

// The rules of _update_job() in 22.05 to 26.05 for an operator's request.
int set_priority(const job_desc_msg_t &change) {
    if (change.priority == NO_VAL || change.priority == the_slurm.priority) return 0;
    if (the_slurm.priority == 0 && change.priority != INFINITE) return ESLURM_JOB_HELD;
    the_slurm.priority = change.priority == INFINITE ? kUserPriority : change.priority;
    the_slurm.reason = WAIT_NO_REASON;
    if (change.priority == 0)
        the_slurm.reason = change.alloc_sid == ALLOC_SID_USER_HOLD ? WAIT_HELD_USER : WAIT_HELD;
    return 0;
}

void set_nice(uint32_t nice) {
    if (nice == NO_VAL || nice == the_slurm.nice) return;
    if (std::string("priority/basic") == the_slurm.priority_type)
        the_slurm.priority = static_cast<uint32_t>(
            std::max<int64_t>(int64_t{the_slurm.priority} + the_slurm.nice - nice, 2));
    the_slurm.nice = nice;
}

std::string intent_text() {
    ringrt::records::Intent intent{.gpus_min = 1, .gpus_max = 8, .gpus = 4};
    intent.own_nice = the_slurm.own_nice;
    intent.exclusions_checksum = the_slurm.exclusions_checksum;
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
    job.array_job_id = the_slurm.array;
    job.array_task_id = the_slurm.array_task;
    job.restart_cnt = static_cast<uint16_t>(the_slurm.restarts);
    job.start_time = std::time(nullptr) - 1000;
    job.batch_flag = 1;
    job.nice = the_slurm.nice;
    job.mail_type = the_slurm.mail_type;
    job.user_id = 4711;
    job.cpus_per_task = the_slurm.cpus_per_task;
    job.priority = the_slurm.priority;
    job.state_reason = the_slurm.reason;
    job.eligible_time = the_slurm.begin;
    job.tres_per_node = strdup(the_slurm.tres_per_node.c_str());
    job.batch_host = strdup("n1");
    job.nodes = strdup(the_slurm.nodes.c_str());
    job.exc_node_inx = the_slurm.excluded;
    static char gpus[] = "gres/gpu:4";
    job.tres_per_job = gpus;
    job.qos = the_slurm.qos.data();
    job.admin_comment = strdup(intent_text().c_str());
    return message;
}

}  // namespace

extern "C" {
int slurm_load_jobs(time_t, job_info_msg_t **out, uint16_t) {
    the_slurm.before_jobs();
    return *out = one_job(), 0;
}
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
    *out = new node_info_msg_t{};
    (*out)->node_array = new node_info_t[static_cast<std::size_t>(the_slurm.node_count)]{};
    for (int i = 0; i < the_slurm.node_count; ++i) {
        node_info_t &node = (*out)->node_array[(*out)->record_count++];
        node.name = strdup(("n" + std::to_string(i + 1)).c_str());
        node.cpus = 16;
#if RINGRT_SLURM_AT_LEAST(25, 5)
        node.alloc_cpus = the_slurm.cpus_used;
#else
        node.select_nodeinfo =
            reinterpret_cast<dynamic_plugin_data_t *>(uintptr_t{1} + the_slurm.cpus_used);
#endif
    }
    return 0;
}
#if !RINGRT_SLURM_AT_LEAST(25, 5)
int slurm_get_select_nodeinfo(dynamic_plugin_data_t *info, enum select_nodedata_type what,
                              enum node_states, void *out) {
    if (what == SELECT_NODEDATA_SUBCNT)
        *static_cast<uint16_t *>(out) =
            static_cast<uint16_t>(reinterpret_cast<uintptr_t>(info) - 1);
    return 0;
}
#endif
void slurm_free_node_info_msg(node_info_msg_t *message) {
    for (uint32_t i = 0; i < message->record_count; ++i) std::free(message->node_array[i].name);
    delete[] message->node_array;
    delete message;
}
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
    (*out)->priority_type = const_cast<char *>(the_slurm.priority_type);
    (*out)->accounting_storage_enforce = the_slurm.enforce;
    return 0;
}
#if RINGRT_SLURM_AT_LEAST(26, 5)
void slurm_free_conf(slurm_conf_t *conf) { delete conf; }
#else
void slurm_free_ctl_conf(slurm_conf_t *conf) { delete conf; }
#endif
int slurm_load_assoc_mgr_info(assoc_mgr_info_request_msg_t *, assoc_mgr_info_msg_t **out) {
    static char gpus[] = "gres/gpu", team[] = "team", *names[] = {gpus};
    static slurmdb_qos_usage_t usage{};
    static slurmdb_qos_rec_t qos{};
    ++the_slurm.limits_asked;
    if (the_slurm.limits_answer != 0) return rc_of(the_slurm.limits_answer);
    usage.grp_used_tres = &the_slurm.used;
    qos.name = team;
    qos.usage = &usage;
    qos.grp_tres_ctld = &the_slurm.limit;
    *out = new assoc_mgr_info_msg_t{};
    (*out)->tres_cnt = 1;
    (*out)->tres_names = names;
    (*out)->qos_list = slurm_list_create(nullptr);
    slurm_list_append((*out)->qos_list, &qos);
    return 0;
}
void slurm_free_assoc_mgr_info_msg(assoc_mgr_info_msg_t *message) {
    slurm_list_destroy(message->qos_list);
    delete message;
}
int slurm_update_job(job_desc_msg_t *change) {
    the_slurm.before_update();
    if (change->admin_comment != nullptr) the_slurm.comment_given = change->admin_comment;
    the_slurm.nice_given = change->nice;
    the_slurm.mail_type_given = change->mail_type;
    if (change->num_tasks != NO_VAL) {
        the_slurm.sized_by = change->user_id;
        the_slurm.tasks_given = change->num_tasks;
        the_slurm.node_tres_given =
            change->tres_per_node != nullptr ? change->tres_per_node : kAsItIs;
    }
    if (change->exc_nodes != nullptr) the_slurm.excluded_given = change->exc_nodes;
    if (change->pn_min_cpus != NO_VAL16) the_slurm.node_cpus_given = change->pn_min_cpus;
    if (change->ntasks_per_node != NO_VAL16) the_slurm.node_tasks_given = change->ntasks_per_node;
    if (change->begin_time != 0) {
        the_slurm.released_by = change->user_id;
        the_slurm.begin = change->begin_time;
    }
    if (the_slurm.update_answer != 0) return rc_of(the_slurm.update_answer);
    if (const int error = set_priority(*change); error != 0) return rc_of(error);
    set_nice(change->nice);
    return 0;
}
#if RINGRT_SLURM_AT_LEAST(25, 11)
int slurm_get_job_steps(slurm_step_id_t *, job_step_info_response_msg_t **out, uint16_t) {
#else
int slurm_get_job_steps(time_t, uint32_t, uint32_t, job_step_info_response_msg_t **out, uint16_t) {
#endif
    *out = new job_step_info_response_msg_t{};
    (*out)->job_steps = new job_step_info_t[the_slurm.steps_of.size()]{};
    for (const uint32_t job : the_slurm.steps_of) {
        job_step_info_t &step = (*out)->job_steps[(*out)->job_step_count++];
        step.step_id = ringrt::slurm::step_of(job, 0);
        step.state = JOB_RUNNING;
    }
    return 0;
}
void slurm_free_job_step_info_response_msg(job_step_info_response_msg_t *message) {
    delete[] message->job_steps;
    delete message;
}
int slurm_kill_job2(const char *job, uint16_t signal, uint16_t flags, const char *) {
    const bool steps_only = flags == KILL_STEPS_ONLY;
    the_slurm.calls.push_back((steps_only ? "signal " + std::to_string(signal) + " to steps of "
                                          : std::string("cancel ")) +
                              job);
    if (!steps_only) the_slurm.state = JOB_CANCELLED;
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
    if (the_slurm.pids_answer == 0) *out = new job_step_pids_response_msg_t{};  // without a process
    return the_slurm.pids_answer;
}
void slurm_job_step_pids_response_msg_free(void *message) {
    delete static_cast<job_step_pids_response_msg_t *>(message);
}
}

namespace {

using Calls = std::vector<std::string>;

// A cluster that has seen the job running.
struct Watched {
    Watched() {
        the_slurm = {};
        look();
    }
    // Jobs are listed again after 2 ms each.
    RpcStatus look() {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return cluster.observe(seen);
    }
    SlurmCluster cluster;
    Observation seen;
};

}  // namespace
