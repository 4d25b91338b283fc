// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/unix_time.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/cluster/pending_reason.h"
#include "slurm_plugin/slurm/cluster/slurm_lists.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

using controller::RpcStatus;

constexpr time_t kPartitionsEvery_s = 5;  // a job cannot restart in a partition that is DOWN
constexpr double kListPerJob_ms = 2;      // between two full listings, per job ...
constexpr double kListEvery_ms = 30000;   // ... but no longer than this
// A query for one job takes Slurm as long as listing this many.
constexpr std::size_t kListedPerSingle = 50;

// A resize of the job is under way: every pass polls it.
bool is_hot(const controller::JobRecord &record) {
    if (record.extension && record.phase != controller::JobPhase::finished)
        return record.phase != controller::JobPhase::running || record.extension->asked_s > 0;
    return record.intent && (record.intent->asked_s > 0 || record.intent->keep > 0) &&
           record.phase != controller::JobPhase::finished;
}

RpcStatus status_of_error(int error) {
    switch (error) {
        case ESLURM_TRANSITION_STATE_NO_UPDATE:
        case ESLURM_NODES_BUSY:
        case ESLURM_IN_STANDBY_MODE:
        case ESLURM_JOB_NOT_PENDING:  // the job has started since it was last listed
        case ESLURM_JOB_HELD:         // or the job was held
        case kSettingDbIndex:         // slurmdbd has not answered for it yet
            return RpcStatus::busy;
        case ESLURM_INVALID_JOB_ID:
        case ESLURM_JOB_FINISHED:
        case ESLURM_ALREADY_DONE:
            return RpcStatus::not_found;
        case EAGAIN:
        case ETIMEDOUT:
        case ECONNREFUSED:
        case ECONNRESET:
        case EPIPE:
            return RpcStatus::unreachable;
        default:
            break;
    }
    // Slurm's error ranges for messages, sockets and credentials.
    const bool transport =
        (error >= SLURM_UNEXPECTED_MSG_ERROR && error < 1900) || (error >= 5000 && error < 7000);
    return transport ? RpcStatus::unreachable : RpcStatus::refused;
}

// GPUs of a partition's largest nodes, as many nodes as one job may have.
PartitionLimits limits_of(const partition_info_t &partition,
                          std::span<const controller::NodeRecord> nodes) {
    std::vector<int> gpus;
    for_each_node(partition.node_inx, nodes.size(), [&](std::size_t node) {
        gpus.push_back(0);
        for (const int part : controller::all_parts(nodes, static_cast<int>(node)))
            gpus.back() += nodes[static_cast<std::size_t>(part)].gpus;
    });
    std::ranges::sort(gpus, std::greater<>());
    if (partition.max_nodes != INFINITE && partition.max_nodes < gpus.size())
        gpus.resize(partition.max_nodes);
    PartitionLimits limits;
    for (const int count : gpus) {
        limits.gpus_in_all += count;
        limits.nodes += count > 0;
    }
    limits.gpus_per_node = gpus.empty() ? 0 : gpus.front();
    limits.qos = bounded_text(partition.qos_char, 256);
    limits.is_default = (partition.flags & PART_FLAG_DEFAULT) != 0;
    limits.whole_nodes = partition.max_share == 0;
    limits.cpus_per_gpu = default_cpus_per_gpu(partition.job_defaults_list);
    return limits;
}

// Where a running job's batch script must be; empty while its nodes are being prepared.
std::string batch_host_of(const slurm_job_info_t &job) {
    const bool runs = (job.job_state & JOB_STATE_BASE) == JOB_RUNNING &&
                      (job.job_state & (JOB_CONFIGURING | JOB_COMPLETING)) == 0;
    return runs ? bounded_text(job.batch_host, 256) : std::string();
}

}  // namespace

RpcStatus SlurmCluster::status_of(int return_code, std::string_view what) {
    if (return_code == SLURM_SUCCESS) return RpcStatus::ok;
    const int error = errno;
    last_error_ = std::string(what) + ": " + slurm_strerror(error);
    return status_of_error(error);
}

RpcStatus SlurmCluster::load_jobs() {
    job_info_msg_t *fresh = nullptr;
    const time_t since = jobs_ ? jobs_->last_update : 0;
    const int rc = timed(Call::load_jobs, [&] {
        return slurm_load_jobs(since, &fresh, SHOW_ALL | SHOW_DETAIL | SHOW_LOCAL);
    });
    last_full_ = Clock::now();
    if (rc != SLURM_SUCCESS && jobs_ && errno == SLURM_NO_CHANGE_IN_DATA) {
        if (listed_.has_raised()) convert_nodes_afresh();
        if (limits_.is_due() && note_limits()) ++seen_.version;
        return load_hot();  // for slurmctld's clock
    }
    if (rc != SLURM_SUCCESS) return status_of(rc, "slurm_load_jobs");
    jobs_.reset(fresh);
    wants_all_ = false;
    convert_nodes_afresh();
    convert_jobs();
    ++seen_.version;
    return RpcStatus::ok;
}

RpcStatus SlurmCluster::load_nodes() {
    node_info_msg_t *fresh = nullptr;
    const int rc = timed(Call::load_nodes, [&] {
        return slurm_load_node(nodes_ ? nodes_->last_update : 0, &fresh, SHOW_ALL);
    });
    if (rc != SLURM_SUCCESS && nodes_ && errno == SLURM_NO_CHANGE_IN_DATA) return RpcStatus::ok;
    if (rc != SLURM_SUCCESS) return status_of(rc, "slurm_load_node");
    nodes_.reset(fresh);
    if (parts_) convert_nodes();
    return RpcStatus::ok;
}

RpcStatus SlurmCluster::load_partitions() {
    const time_t now = std::time(nullptr);
    if (parts_ && now - partitions_asked_ < kPartitionsEvery_s && now >= partitions_asked_)
        return RpcStatus::ok;
    partition_info_msg_t *fresh = nullptr;
    const int rc = timed(Call::load_partitions, [&] {
        return slurm_load_partitions(parts_ ? parts_->last_update : 0, &fresh, SHOW_ALL);
    });
    partitions_asked_ = now;
    const bool same = rc != SLURM_SUCCESS && parts_ && errno == SLURM_NO_CHANGE_IN_DATA;
    if (rc != SLURM_SUCCESS && !same) return status_of(rc, "slurm_load_partitions");
    if (!same) parts_.reset(fresh);
    if ((reservations_.ask(api_) || !same) && nodes_) convert_nodes();
    return RpcStatus::ok;
}

// With the listing of jobs that has just been made.
void SlurmCluster::convert_nodes_afresh() {
    listed_.forget();
    convert_nodes();
    listed_.note(seen_.nodes);
}

void SlurmCluster::convert_nodes() {
    std::vector<controller::NodeRecord> nodes = node_records(*nodes_, *parts_);
    reservations_.note_in(nodes);
    listed_.apply_to(nodes);
    std::map<std::string, PartitionLimits, std::less<>> partitions;
    for (const partition_info_t &partition :
         std::span(parts_->partition_array, parts_->record_count))
        partitions[bounded_text(partition.name, 256)] = limits_of(partition, nodes);
    if (nodes != seen_.nodes || partitions != partitions_) ++seen_.version;
    seen_.nodes = std::move(nodes);
    partitions_ = std::move(partitions);
}

// Keeps only rigid jobs that request or hold GPUs, are pending for nodes with GPUs, or are pending
// at a shared limit.
void SlurmCluster::convert_jobs() {
    seen_.jobs.clear();
    malleable_.clear();
    hot_.clear();
    const std::span jobs(jobs_->job_array, jobs_->record_count);
    arrays_ = JobArrays(jobs);
    for (const slurm_job_info_t &job : jobs) {
        const bool may_be_malleable = job.admin_comment != nullptr && job.admin_comment[0] != '\0';
        const bool may_need = gpus_requested(job) > 0 || job.gres_detail_cnt > 0 ||
                              waits_at_limit(job) || may_need_gpu_node(job);
        if (!may_be_malleable && !may_need) continue;
        controller::JobRecord record = convert(job, jobs_->last_update);
        if (!record.intent && (record.phase == controller::JobPhase::finished || !may_need))
            continue;
        if (is_hot(record)) hot_.push_back(seen_.jobs.size());
        seen_.jobs.push_back(std::move(record));
    }
    note_limits();
}

// Of the largest node of these partitions.
int SlurmCluster::gpus_per_node(std::string_view partitions) const {
    int gpus = 0;
    while (!partitions.empty()) {
        const std::size_t end = std::min(partitions.find(','), partitions.size());
        const auto found = partitions_.find(partitions.substr(0, end));
        if (found != partitions_.end()) gpus = std::max(gpus, found->second.gpus_per_node);
        partitions.remove_prefix(std::min(end + 1, partitions.size()));
    }
    return gpus;
}

// A job without GPUs may lack CPUs or memory that malleable jobs hold with theirs.
bool SlurmCluster::may_need_gpu_node(const slurm_job_info_t &job) const {
    const bool waits = (job.job_state & JOB_STATE_BASE) == JOB_PENDING;
    return waits && gpus_per_node(bounded_text(job.partition, 256)) > 0;
}

bool SlurmCluster::note_limits() {
    if (!has_limited_job(seen_.jobs)) return false;
    const std::optional<SiteConf> conf = site_conf();
    int most_on_a_node = 0;
    for (const controller::NodeRecord &node : seen_.nodes)
        most_on_a_node = std::max(most_on_a_node, node.gpus);
    return conf && conf->enforces_limits &&
           limits_.ask(seen_.jobs, {most_on_a_node, conf->limits_are_safe}, api_);
}

// After an update of the size, Slurm no longer applies the site's default of CPUs per GPU. So it
// counts as CPUs per task, which each size then has.
void SlurmCluster::note_default_cpus(controller::JobRecord &record) {
    const records::Layout &layout = record.intent->layout;
    const int gpus_per_task = layout.task_per_node ? layout.gpus_per_node : 1;
    if (record.cpus_per_task > 1 || gpus_per_task == 0) return;
    const auto partition = partitions_.find(record.partition);
    int per_gpu = partition == partitions_.end() ? 0 : partition->second.cpus_per_gpu;
    if (per_gpu == 0) {
        const bool is_pending = record.phase == controller::JobPhase::pending;  // and gets a size
        if (const auto conf = is_pending ? site_conf() : conf_) per_gpu = conf->cpus_per_gpu;
    }
    record.cpus_per_task = std::max(record.cpus_per_task, per_gpu * gpus_per_task);
}

controller::JobRecord SlurmCluster::convert(const slurm_job_info_t &job, time_t told) {
    controller::JobRecord record = job_record(job, seen_.nodes);
    record.slurmctld_s = static_cast<double>(told);
    // Slurm leaves the request of a job that gave up nodes unchanged.
    const bool has_changed = job.resize_time > 0 && job.resize_time >= job.start_time;
    if (has_changed && record.phase == controller::JobPhase::running) {
        int held = 0;
        for (const auto &[node, gpus] : record.gpus_on_node) held += gpus;
        if (held > 0) record.gpus_requested = held;
    }
    if (record.whole_nodes && !record.intent && record.phase == controller::JobPhase::pending)
        record.gpus_requested = std::max(record.gpus_requested,
                                         record.nodes_requested * gpus_per_node(record.partition));
    const bool may_be_limited = record.intent || record.at_limit.of_qos;
    const auto partition = partitions_.find(record.partition);
    if (may_be_limited && partition != partitions_.end())
        record.partition_qos = partition->second.qos;
    if (!record.intent) return record;
    note_default_cpus(record);
    arrays_.note_in(job, record);
    const std::optional<int64_t> own_nice = record.intent->own_nice;
    malleable_[record.id] = {.tres_per_job = bounded_text(job.tres_per_job),
                             .tres_per_node = bounded_text(job.tres_per_node),
                             .name = name_in_requests(job),
                             .batch_host = batch_host_of(job),
                             .user_id = job.user_id,
                             .start = job.start_time,
                             .restarts = job.restart_cnt,
                             .nice = job.nice,
                             .has_lent_nice = own_nice.has_value(),
                             .mail_type = job.mail_type,
                             .priority = job.priority,
                             .cpus_per_task = static_cast<uint32_t>(record.cpus_per_task)};
    // A nice value lent for a restart raises the priority. Jobs are compared by the site's
    // priorities.
    if (own_nice && record.priority > 0)
        record.priority =
            std::max(1.0, record.priority - static_cast<double>(*own_nice - record.nice));
    return record;
}

// With a full queue, Slurm needs a while to list all jobs, under the scheduler's lock: about 20 us
// per job. Listings must take at most a hundredth of the time. In between, only the hot jobs are
// polled singly, and each job that was just updated once.
bool SlurmCluster::is_time_for_all() const {
    if (!jobs_ || wants_all_ || hot_.size() * kListedPerSingle > jobs_->record_count) return true;
    const std::chrono::duration<double, std::milli> age = Clock::now() - last_full_;
    return age.count() >= std::min(kListPerJob_ms * jobs_->record_count, kListEvery_ms);
}

// The next observation must not show a job's state from before its update.
void SlurmCluster::mark_hot(uint32_t job_id) {
    const auto found = std::ranges::find(seen_.jobs, job_id, &controller::JobRecord::id);
    const auto index = static_cast<std::size_t>(found - seen_.jobs.begin());
    if (found != seen_.jobs.end() && std::ranges::find(hot_, index) == hot_.end())
        hot_.push_back(index);
}

RpcStatus SlurmCluster::load_job(uint32_t job_id, LoadedJob &out) {
    const int rc = timed(Call::load_job, [&] { return out.load(job_id); });
    if (rc == SLURM_SUCCESS && !out) return RpcStatus::not_found;
    return status_of(rc, "slurm_load_job");
}

RpcStatus SlurmCluster::load_hot() {
    std::vector<std::size_t> still;
    const uint64_t version = seen_.version;
    for (const std::size_t index : hot_) {
        LoadedJob found;
        // The job is gone: the next full listing shows it.
        if (const RpcStatus said = load_job(seen_.jobs[index].id, found);
            said == RpcStatus::not_found)
            continue;
        else if (said != RpcStatus::ok)
            return said;
        controller::JobRecord record = convert(*found, found.reported_at());
        keep_noted(seen_.jobs[index], record);
        if (is_hot(record)) still.push_back(index);
        if (record == seen_.jobs[index]) continue;
        seen_.jobs[index] = std::move(record);
        ++seen_.version;
    }
    hot_ = std::move(still);
    if (seen_.version != version) note_limits();  // a started job uses what a limit left
    return RpcStatus::ok;
}

RpcStatus SlurmCluster::observe(controller::Observation &out) {
    if (const RpcStatus partitions = load_partitions(); partitions != RpcStatus::ok)
        return partitions;
    if (const RpcStatus nodes = load_nodes(); nodes != RpcStatus::ok) return nodes;
    if (is_time_for_all()) {
        if (const RpcStatus jobs = load_jobs(); jobs != RpcStatus::ok) return jobs;
        // A job that started between the two listings has CPUs and memory that count as free.
        if (const RpcStatus nodes = load_nodes(); nodes != RpcStatus::ok) return nodes;
        if (listed_.has_raised())
            if (const RpcStatus jobs = load_jobs(); jobs != RpcStatus::ok) return jobs;
    } else if (const RpcStatus jobs = load_hot(); jobs != RpcStatus::ok) {
        return jobs;
    }
    if (out.version != seen_.version) out = seen_;
    out.now_s = unix_now_s();
    return RpcStatus::ok;
}

}  // namespace ringrt::slurm
