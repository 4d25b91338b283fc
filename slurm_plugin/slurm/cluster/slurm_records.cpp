// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/slurm_records.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "slurm_plugin/controller/lent_exclusions.h"
#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/cluster/pending_reason.h"
#include "slurm_plugin/slurm/cluster/slurm_mails.h"
#include "slurm_plugin/slurm/cluster/slurm_memory.h"
#include "slurm_plugin/slurm/cluster/slurm_shares.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

using controller::JobPhase;
using controller::JobRecord;
using controller::NodeRecord;

constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kJobNameBytesMax = 64;

JobPhase phase_of(uint32_t state) {
    if ((state & JOB_REVOKED) != 0) return JobPhase::finished;  // it runs on another cluster
    if ((state & JOB_COMPLETING) != 0) return JobPhase::completing;
    switch (state & JOB_STATE_BASE) {
        case JOB_PENDING:
            return JobPhase::pending;
        case JOB_RUNNING:
            return JobPhase::running;
        case JOB_SUSPENDED:
            return JobPhase::suspended;
        default:
            return JobPhase::finished;
    }
}

bool is_set(uint16_t number) { return number != 0 && number != NO_VAL16 && number != INFINITE16; }

int gpus_in(const char *tres) { return requested_gpus(bounded_text(tres)); }

// Of a job that requests several types at once: the GPUs of each, of the whole job.
std::vector<controller::TypedGpus> gpus_of_types(const slurm_job_info_t &job) {
    for (const char *tres :
         {job.tres_per_job, job.tres_per_node, job.tres_per_task, job.tres_per_socket}) {
        std::vector<controller::TypedGpus> types = gpus_by_type(bounded_text(tres));
        const int all = gpus_in(tres);
        if (all <= 0) continue;
        if (types.size() < 2) return {};
        const int64_t times = gpus_requested(job) / all;
        for (auto &one : types)
            one.second = static_cast<int>(std::min<int64_t>(one.second * times, 1 << 20));
        return types;
    }
    return {};
}

// On the node's part of this type; of an unknown type: on its parts in order.
void add_held_on(std::span<const NodeRecord> nodes, int node, const std::string &type, int gpus,
                 JobRecord &record) {
    const std::vector<int> parts = controller::all_parts(nodes, node);
    const auto has_type = [&](int part) {
        const NodeRecord &here = nodes[static_cast<std::size_t>(part)];
        return parts.size() == 1 || here.gpu_types.front() == type;
    };
    const bool is_known = std::ranges::any_of(parts, has_type);
    for (const int part : parts) {
        const int here = std::min(gpus, nodes[static_cast<std::size_t>(part)].gpus);
        if (here <= 0 || (is_known && !has_type(part))) continue;
        record.gpus_on_node.emplace_back(part, here);
        gpus -= here;
    }
}

// A completing job holds its GPUs until its last process has ended, on the nodes that it still has.
void add_held_gpus(const slurm_job_info_t &job, std::span<const NodeRecord> nodes,
                   JobRecord &record) {
    std::vector<std::size_t> held;
    for_each_node(job.node_inx, nodes.size(), [&](std::size_t node) { held.push_back(node); });
    std::vector<int> counts;
    for (uint32_t i = 0; i < job.gres_detail_cnt && job.gres_detail_str != nullptr; ++i)
        counts.push_back(count_gpus(bounded_text(job.gres_detail_str[i])));
    const bool aligned = counts.size() == held.size();
    const int most = counts.empty() ? 0 : *std::ranges::max_element(counts);
    for (std::size_t i = 0; i < held.size(); ++i) {
        std::vector<controller::TypedGpus> types{{record.gpu_type, aligned ? counts[i] : most}};
        if (aligned && !nodes[held[i]].parts.empty())
            if (auto known = gpus_by_type(bounded_text(job.gres_detail_str[i])); !known.empty())
                types = std::move(known);
        for (const auto &[type, gpus] : types)
            add_held_on(nodes, static_cast<int>(held[i]), type, gpus, record);
    }
}

// Slurm numbers a node's GPUs in the order of their types.
int part_with_gpu(std::span<const NodeRecord> nodes, int node, int gpu) {
    for (const int part : controller::all_parts(nodes, node)) {
        const int here = nodes[static_cast<std::size_t>(part)].gpus;
        if (gpu < here) return part;
        gpu -= here;
    }
    return node;
}

// The job's share of a GPU on each node, and what it holds.
void note_shares(const slurm_job_info_t &job, std::span<const NodeRecord> nodes,
                 JobRecord &record) {
    if (record.gpus_requested > 0) return;
    record.gpu_share = gpu_share(bounded_text(job.tres_per_node));
    if (record.gpu_share.amount == 0) {
        record.gpu_share = gpu_share(bounded_text(job.tres_per_task));
        constexpr uint32_t kTasksCounted = 1000;
        const int tasks =
            job.num_tasks == NO_VAL ? 1 : static_cast<int>(std::min(job.num_tasks, kTasksCounted));
        const int nodes_wanted = std::max(1, record.nodes_requested);
        record.gpu_share.amount *= (tasks + nodes_wanted - 1) / nodes_wanted;
    }
    if (record.gpu_share.amount == 0) return;
    if (record.phase == JobPhase::pending && !waits_at_limit(job))
        record.gpus_requested = record.nodes_requested;
    if (record.phase == JobPhase::pending || record.phase == JobPhase::finished) return;
    uint32_t next = 0;
    for_each_node(job.node_inx, nodes.size(), [&](std::size_t node) {
        if (next >= job.gres_detail_cnt || job.gres_detail_str == nullptr) return;
        const std::string list = bounded_text(job.gres_detail_str[next++]);
        for (auto held : held_shares(list, static_cast<int>(node))) {
            held.node = part_with_gpu(nodes, held.node, held.gpu);
            record.shares_held.push_back(held);
        }
    });
}

void add_times(const slurm_job_info_t &job, JobRecord &record) {
    record.submit_s = static_cast<double>(job.submit_time);
    record.begin_s = static_cast<double>(job.eligible_time);
    const bool waits = record.phase == JobPhase::pending;
    record.start_s = waits ? 0 : static_cast<double>(job.start_time);
    // Slurm counts run time up to the last suspension or resumption.
    if (!waits && job.suspend_time > job.start_time)
        record.suspended_s = std::max(0.0, static_cast<double>(job.suspend_time - job.start_time) -
                                               static_cast<double>(job.pre_sus_time));
    // Slurm drops the end time of a requeued job's run and sets its submit time to the requeue.
    record.end_s = static_cast<double>(!waits                ? job.end_time
                                       : job.restart_cnt > 0 ? job.submit_time
                                                             : 0);
    // For a pending job without a time limit (no --time and no DefaultTime, or after a requeue if
    // it was the MaxWall of its QOS), Slurm shows the MaxTime of its partition.
    if (job.time_limit != INFINITE && job.time_limit != NO_VAL)
        record.time_limit_s = static_cast<int64_t>(job.time_limit) * 60;
}

void add_end(const slurm_job_info_t &job, JobRecord &record) {
    using How = controller::End::How;
    if (record.phase != JobPhase::finished) return;
    const auto status = static_cast<int>(job.exit_code);
    controller::End &end = record.end.emplace();
    switch (job.job_state & JOB_STATE_BASE) {
        case JOB_COMPLETE:
            end.how = How::completed;
            break;
        case JOB_CANCELLED:
            end.how = How::cancelled;
            break;
        case JOB_FAILED:
        case JOB_OOM:
            end.how = How::failed;
            break;
        default:
            end.how = How::by_slurm;
    }
    if (WIFSIGNALED(status))
        end.signal = WTERMSIG(status);
    else
        end.exit_code = WEXITSTATUS(status);
}

// What decides where and for whom a job runs; its user may change it while the job is pending. (Not
// the partition, which Slurm shows as a list while it is pending, and not the size, which the
// controller sets.)
uint64_t constraints_of(const slurm_job_info_t &job, uint64_t excluded) {
    uint64_t sum = excluded;
    for (const char *text : {job.account, job.qos, job.features, job.req_nodes, job.resv_name})
        sum = sum * 31 + std::hash<std::string>()(bounded_text(text));
    return sum;
}

// With --gpus alone, Slurm distributes the GPUs as nodes have them. With --gpus-per-node, --gres or
// --ntasks-per-node, each node has its share.
void add_shares(const slurm_job_info_t &job, JobRecord &record) {
    record.any_shares = gpus_in(job.tres_per_job) > 0 && gpus_in(job.tres_per_node) == 0 &&
                        gpus_in(job.tres_per_socket) == 0 && gpus_in(job.tres_per_task) == 0 &&
                        !is_set(job.ntasks_per_node);
    if (record.any_shares && job.max_nodes != NO_VAL && job.max_nodes != INFINITE)
        record.nodes_most = static_cast<int>(std::min<uint32_t>(job.max_nodes, 1 << 20));
}

void add_owners_of_limits(const slurm_job_info_t &job, JobRecord &record) {
    record.account = bounded_text(job.account, kNameBytesMax);
    record.qos = bounded_text(job.qos, kNameBytesMax);
    record.licences = licence_names(bounded_text(job.licenses, kNameBytesMax));
}

}  // namespace

std::string bounded_text(const char *text, std::size_t bytes_max) {
    return text == nullptr ? std::string() : std::string(text, strnlen(text, bytes_max));
}

int gpus_requested(const slurm_job_info_t &job) {
    const auto many = [](int gpus, uint32_t times) {
        return times == NO_VAL
                   ? gpus
                   : static_cast<int>(std::min<int64_t>(int64_t{gpus} * times, 1 << 20));
    };
    if (const int gpus = gpus_in(job.tres_per_job); gpus > 0) return gpus;
    if (const int gpus = gpus_in(job.tres_per_node); gpus > 0) return many(gpus, job.num_nodes);
    if (const int gpus = gpus_in(job.tres_per_task); gpus > 0) return many(gpus, job.num_tasks);
    return many(gpus_in(job.tres_per_socket), job.num_nodes);
}

JobRecord job_record(const slurm_job_info_t &job, std::span<const NodeRecord> nodes) {
    JobRecord record{
        .id = job_id_of(job),
        .phase = phase_of(job.job_state),
        .name = bounded_text(job.name, kJobNameBytesMax),
        .partition = bounded_text(job.partition, kNameBytesMax),
        .user_id = job.user_id,
        .priority = static_cast<double>(job.priority),
        .nice = static_cast<int64_t>(job.nice) - NICE_OFFSET,
        .run_mails = run_mails_of(job.mail_type),
        .restarts = job.restart_cnt,
        .gpus_requested = gpus_requested(job),
        .nodes_requested = static_cast<int>(job.num_nodes == NO_VAL ? 1 : job.num_nodes),
        .cpus_per_task = job.cpus_per_task == NO_VAL16 ? 1 : std::max<int>(1, job.cpus_per_task),
        .cpus_requested = cpus_of(job, gpus_requested(job)),
        .admin_comment = admin_comment_of(job),
    };
    for (const char *tres :
         {job.tres_per_job, job.tres_per_node, job.tres_per_task, job.tres_per_socket})
        if (record.gpu_type.empty()) record.gpu_type = gpu_type(bounded_text(tres));
    if (record.phase == JobPhase::pending) record.gpus_of_types = gpus_of_types(job);
    add_shares(job, record);
    record.features = bounded_text(job.features, kNameBytesMax);
    record.has_reservation = job.resv_name != nullptr && *job.resv_name != '\0';
    for_each_node(job.exc_node_inx, nodes.size(), [&](std::size_t node) {
        record.excluded_nodes.push_back(static_cast<int>(node));
    });
    record.extension = records::parse_extension(record.admin_comment);
    if (!record.extension) record.intent = records::parse_intent(record.admin_comment);
    if (record.intent) {
        record.has_node_list = !bounded_text(job.req_nodes, 1).empty();
        take_out_lent_list(record, nodes);
        record.constraints = constraints_of(job, checksum_of(record.excluded_nodes, nodes));
        if (record.phase == JobPhase::running) record.billing = billing_of(job);
    }
    // With more nodes than it names, a job gets others too.
    if (!record.intent && record.phase == JobPhase::pending)
        for_each_node(job.req_node_inx, nodes.size(), [&](std::size_t node) {
            record.required_nodes.push_back(static_cast<int>(node));
        });
    if (static_cast<int>(record.required_nodes.size()) < record.nodes_requested)
        record.required_nodes.clear();
    if (record.intent || waits_at_limit(job)) add_owners_of_limits(job, record);
    record.memory = memory_of(job);
    note_shares(job, nodes, record);
    record.whole_nodes = job.shared == JOB_SHARED_NONE;
    if (record.intent) record.telemetry = records::parse_telemetry(bounded_text(job.comment));
    if (record.phase == JobPhase::pending) {
        record.pending_reason = waits_of(job);
        record.slurm_hold = slurm_hold_of(job);
        if (const auto limit = limit_of(job.state_reason)) record.at_limit = *limit;
        record.has_stale_nodes = job.restart_cnt > 0 && !bounded_text(job.nodes, 1).empty();
    } else if (record.phase != JobPhase::finished) {
        add_held_gpus(job, nodes, record);
    }
    add_times(job, record);
    add_end(job, record);
    return record;
}

}  // namespace ringrt::slurm
