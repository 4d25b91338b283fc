// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster: updates of a job.
#include <algorithm>
#include <ctime>
#include <optional>
#include <string>

#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/cluster/pending_reason.h"
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/cluster/slurm_mails.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"

namespace ringrt::slurm {

using controller::RpcStatus;

namespace {

constexpr uint32_t kFirstInQueueNice = 1'000'000;  // by which the nice value is lowered
constexpr time_t kHeldAgain_s = 60;  // earliest start of a job that is released for a moment

// Slurm stores nice values as unsigned numbers around NICE_OFFSET.
uint32_t slurm_nice(int64_t nice) {
    return static_cast<uint32_t>(std::clamp<int64_t>(nice + NICE_OFFSET, 0, NO_VAL - 1));
}

bool is_pending(const slurm_job_info_t &job) {
    return (job.job_state & JOB_STATE_BASE) == JOB_PENDING;
}

// By its user or an operator, not by Slurm.
bool is_held(const slurm_job_info_t &job) {
    return job.priority == 0 && slurm_hold_of(job) == controller::SlurmHold::none;
}

// Only an operator may set this. It lifts no limit.
void set_layout(const controller::PendingUpdate::Size &size, uint32_t cpus_per_task,
                job_desc_msg_t &change) {
    const int tasks = size.tasks > 0 ? size.tasks : size.gpus;
    // Otherwise Slurm distributes tasks by CPUs: 13, 1, 1 and 1 for sixteen GPUs on four nodes.
    change.ntasks_per_node = static_cast<uint16_t>(tasks / size.nodes);
    // Slurm raises the CPUs per node with the tasks per node, but never lowers them: from 24.11 on,
    // a job that shrinks within a node would never start again.
    change.pn_min_cpus = static_cast<uint16_t>(
        std::min<uint32_t>(change.ntasks_per_node * cpus_per_task, NO_VAL16 - 1));
}

}  // namespace

RpcStatus SlurmCluster::send(uint32_t job_id, job_desc_msg_t &change) {
    return this->change(job_id, Call::update_job, "slurm_update_job",
                        [&] { return slurm_update_job(&change); });
}

// With priority/basic, Slurm adds the difference of two nice values to the priority. For a held job
// the priority is 0, so the update releases it (22.05 to 26.05, _update_job()).
RpcStatus SlurmCluster::send_with_nice(uint32_t job_id, job_desc_msg_t &change, IfHeld if_held) {
    const std::optional<SiteConf> conf = site_conf();
    if (conf && !conf->nice_sets_priority) return send(job_id, change);
    LoadedJob found;
    if (const RpcStatus status = load_job(job_id, found); status != RpcStatus::ok) return status;
    const slurm_job_info_t &job = *found;
    if (is_held(job)) {
        mark_hot(job_id);
        return if_held == IfHeld::refuse ? RpcStatus::busy : send_to_held(job_id, job, change);
    }
    // Slurm refuses a priority for a held job: if a hold arrives at this moment, the update fails.
    if (conf && job.priority != 0) change.priority = job.priority;
    return send(job_id, change);
}

// A second request holds the job again. In between, a future begin time keeps it from starting.
RpcStatus SlurmCluster::send_to_held(uint32_t job_id, const slurm_job_info_t &job,
                                     job_desc_msg_t &change) {
    const time_t begin = std::max<time_t>(1, job.eligible_time);  // 0 would mean: unchanged
    if (is_pending(job)) change.begin_time = std::max(begin, std::time(nullptr) + kHeldAgain_s);
    if (const RpcStatus status = send(job_id, change); status != RpcStatus::ok) return status;
    job_desc_msg_t hold;
    slurm_init_job_desc_msg(&hold);
    set_job_id(hold, job_id);
    hold.priority = 0;
    hold.alloc_sid =
        job.state_reason == WAIT_HELD_USER ? ALLOC_SID_USER_HOLD : ALLOC_SID_ADMIN_HOLD;
    if (is_pending(job)) hold.begin_time = begin;
    return send(job_id, hold);
}

RpcStatus SlurmCluster::write_intent(uint32_t job_id, const std::string &admin_comment,
                                     const controller::Settings &settings) {
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    set_job_id(change, job_id);
    change.admin_comment = const_cast<char *>(admin_comment.c_str());
    const auto known = malleable_.find(job_id);
    char no_nodes[] = "";
    if (settings.no_excluded_nodes) change.exc_nodes = no_nodes;
    if (settings.run_mails && known != malleable_.end())
        change.mail_type = with_run_mails(known->second.mail_type, *settings.run_mails);
    // The nice value comes first. In a single update, Slurm would store the record before a hold
    // makes it refuse the nice value, and the new record no longer marks the nice value as lent.
    if (settings.nice) {
        job_desc_msg_t give_back;
        slurm_init_job_desc_msg(&give_back);
        set_job_id(give_back, job_id);
        give_back.nice = slurm_nice(*settings.nice);
        if (const RpcStatus status = send_with_nice(job_id, give_back, IfHeld::keep);
            status != RpcStatus::ok)
            return status;
    }
    return send(job_id, change);
}

// As the job's owner, like `scontrol update --uid`: what an operator sets is exempt from the CPU
// and node limits of the job's user, account and QOS, and a size must obey them all.
RpcStatus SlurmCluster::set_size(uint32_t job_id, const Details &details,
                                 const controller::PendingUpdate::Size &size) {
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    set_job_id(change, job_id);
    if (details.user_id) change.user_id = *details.user_id;
    const auto &[gpus, nodes, cpus, size_tasks] = size;
    // The total is not enough. Slurm fills the first node: four and two of six GPUs, for three
    // tasks on each. And 26.05 starts a job for four GPUs of one node with the two that are free
    // while other jobs have the rest (also stock sbatch -N1 --gpus=4).
    std::string tres = format_gpu_tres(details.tres_per_job, gpus);
    std::string node_tres = with_gpus(details.tres_per_node, details.tres_per_job, gpus / nodes);
    change.tres_per_job = tres.data();
    change.tres_per_node = node_tres.data();
    change.num_tasks = static_cast<uint32_t>(size_tasks > 0 ? size_tasks : gpus);
    change.min_cpus = static_cast<uint32_t>(cpus);
    change.min_nodes = change.max_nodes = static_cast<uint32_t>(nodes);
    return send(job_id, change);
}

RpcStatus SlurmCluster::update_pending(uint32_t job_id, const controller::PendingUpdate &update) {
    const auto known = malleable_.find(job_id);
    const Details details = known != malleable_.end() ? known->second : Details{};
    if (update.size)
        if (const RpcStatus status = set_size(job_id, details, *update.size);
            status != RpcStatus::ok)
            return status;
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    set_job_id(change, job_id);
    if (update.size) set_layout(*update.size, details.cpus_per_task, change);
    if (update.time_limit_s)
        change.time_limit = static_cast<uint32_t>((*update.time_limit_s + 59) / 60);
    if (update.run_mails && known != malleable_.end())
        change.mail_type = with_run_mails(details.mail_type, *update.run_mails);
    if (update.begin_s) change.begin_time = static_cast<time_t>(*update.begin_s);
    if (update.nice) {
        change.nice = slurm_nice(*update.nice);
    } else if (update.first_in_queue && !details.has_lent_nice) {
        // Limited by the priority, an unsigned number that wraps.
        const uint32_t room = UINT32_MAX - details.priority;
        change.nice = details.nice - std::min(kFirstInQueueNice, room - room / 4);
    }
    std::string excluded;
    if (update.excluded_nodes) {
        for (const int node : *update.excluded_nodes)
            if (node >= 0 && static_cast<std::size_t>(node) < seen_.nodes.size())
                excluded += (excluded.empty() ? "" : ",") +
                            seen_.nodes[static_cast<std::size_t>(node)].name;
        change.exc_nodes = excluded.data();  // empty: no longer any
    }
    if (!update.admin_comment.empty())
        change.admin_comment = const_cast<char *>(update.admin_comment.c_str());
    if (update.undo_slurm_hold) change.priority = INFINITE;  // like scontrol release
    return change.nice == NO_VAL || update.undo_slurm_hold
               ? send(job_id, change)
               : send_with_nice(job_id, change, IfHeld::refuse);
}

}  // namespace ringrt::slurm
