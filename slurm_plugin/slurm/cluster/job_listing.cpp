// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/job_listing.h"

#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/slurm/base/loaded_job.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/cluster/slurm_library.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

struct FreeJobs {
    void operator()(job_info_msg_t *message) const { free_jobs(message); }
};

struct FreeNodes {
    void operator()(node_info_msg_t *message) const { slurm_free_node_info_msg(message); }
};

struct FreePartitions {
    void operator()(partition_info_msg_t *message) const { slurm_free_partition_info_msg(message); }
};

std::string text(const char *value, std::size_t bytes_max = 256) {
    return value == nullptr ? std::string() : std::string(value, strnlen(value, bytes_max));
}

// These names are not in libslurm's public headers.
struct StateName {
    uint32_t state;
    const char *name, *brief;
};
constexpr StateName kStates[] = {
    {JOB_PENDING, "PENDING", "PD"},     {JOB_RUNNING, "RUNNING", "R"},
    {JOB_SUSPENDED, "SUSPENDED", "S"},  {JOB_COMPLETE, "COMPLETED", "CD"},
    {JOB_CANCELLED, "CANCELLED", "CA"}, {JOB_FAILED, "FAILED", "F"},
    {JOB_TIMEOUT, "TIMEOUT", "TO"},     {JOB_NODE_FAIL, "NODE_FAIL", "NF"},
    {JOB_PREEMPTED, "PREEMPTED", "PR"}, {JOB_BOOT_FAIL, "BOOT_FAIL", "BF"},
    {JOB_DEADLINE, "DEADLINE", "DL"},   {JOB_OOM, "OUT_OF_MEMORY", "OOM"},
};

struct ReasonName {
    uint32_t reason;
    const char *name;
};
constexpr ReasonName kReasons[] = {
    {WAIT_NO_REASON, "None"},
    {WAIT_PRIORITY, "Priority"},
    {WAIT_DEPENDENCY, "Dependency"},
    {WAIT_RESOURCES, "Resources"},
    {WAIT_PART_NODE_LIMIT, "PartitionNodeLimit"},
    {WAIT_PART_TIME_LIMIT, "PartitionTimeLimit"},
    {WAIT_PART_DOWN, "PartitionDown"},
    {WAIT_HELD, "JobHeldAdmin"},
    {WAIT_HELD_USER, "JobHeldUser"},
    {WAIT_TIME, "BeginTime"},
    {WAIT_LICENSES, "Licenses"},
    {WAIT_RESERVATION, "Reservation"},
    {WAIT_NODE_NOT_AVAIL, "ReqNodeNotAvail"},
    {WAIT_CLEANING, "Cleaning"},
    {WAIT_PROLOG, "Prolog"},
    {WAIT_DEP_INVALID, "DependencyNeverSatisfied"},
    {WAIT_ARRAY_TASK_LIMIT, "JobArrayTaskLimit"},
    {WAIT_ASSOC_JOB_LIMIT, "AssociationJobLimit"},
    {WAIT_ASSOC_RESOURCE_LIMIT, "AssociationResourceLimit"},
    {WAIT_QOS_JOB_LIMIT, "QOSJobLimit"},
    {WAIT_QOS_RESOURCE_LIMIT, "QOSResourceLimit"},
    {FAIL_BAD_CONSTRAINTS, "BadConstraints"},
    {FAIL_LAUNCH, "JobLaunchFailure"},
    {FAIL_EXIT_CODE, "NonZeroExitCode"},
    {FAIL_TIMEOUT, "TimeLimit"},
};

std::string reason_name(uint32_t reason) {
    for (const ReasonName &entry : kReasons)
        if (entry.reason == reason) return entry.name;
    return "Reason" + std::to_string(reason);
}

void set_state(ListedJob &job, uint32_t state) {
    job.completing = (state & JOB_COMPLETING) != 0;
    const uint32_t base = state & JOB_STATE_BASE;
    job.pending = base == JOB_PENDING && !job.completing;
    job.ended = base >= JOB_COMPLETE && !job.completing;
    for (const StateName &entry : kStates)
        if (entry.state == base) job.state = entry.name, job.state_short = entry.brief;
    if (job.completing) job.state = "COMPLETING", job.state_short = "CG";
}

class UserNames {
  public:
    const std::string &of(uint32_t user_id) {
        auto [found, is_new] = names_.try_emplace(user_id);
        if (is_new) {
            const passwd *entry = getpwuid(user_id);
            found->second = entry != nullptr ? text(entry->pw_name) : std::to_string(user_id);
        }
        return found->second;
    }

  private:
    std::map<uint32_t, std::string> names_;
};

std::string shown_task(const slurm_job_info_t &info) {
    if (info.array_job_id == 0) return {};
    if (is_array_task(info)) return name_in_requests(info);
    return std::to_string(info.array_job_id) + "_[" + text(info.array_task_str) + "]";
}

ListedJob listed(const slurm_job_info_t &info, UserNames &users) {
    ListedJob job{.id = job_id_of(info),
                  .user_id = info.user_id,
                  .task = shown_task(info),
                  .name = text(info.name),
                  .user = users.of(info.user_id),
                  .partition = text(info.partition),
                  .nodes = text(info.nodes),
                  .reason = reason_name(info.state_reason),
                  .restarts = info.restart_cnt,
                  .submit_s = static_cast<double>(info.submit_time),
                  .start_s = static_cast<double>(info.start_time),
                  .end_s = static_cast<double>(info.end_time),
                  .admin_comment = admin_comment_of(info),
                  .comment = text(info.comment, kCommentBytesMax)};
    set_state(job, info.job_state);
    if (!job.pending) job.gpus = count_gpus(text(info.gres_total));
    return job;
}

// A training and its extensions are shown as one job while the base is listed.
void count_extensions(std::vector<ListedJob> &jobs) {
    std::vector<uint32_t> counted;
    for (const ListedJob &job : jobs) {
        const auto extension = records::parse_extension(job.admin_comment);
        if (!extension) continue;
        const auto base = std::ranges::find(jobs, extension->base, &ListedJob::id);
        if (base == jobs.end()) continue;
        counted.push_back(job.id);
        if (job.pending || job.ended || base->restarts != extension->run) continue;
        base->gpus += job.gpus;
        if (base->nodes != job.nodes) base->nodes += "," + job.nodes;
    }
    std::erase_if(jobs, [&](const ListedJob &job) {
        return std::ranges::find(counted, job.id) != counted.end();
    });
}

}  // namespace

Listing list_jobs() {
    init_slurm_library();
    Listing listing;
    job_info_msg_t *message = nullptr;
    if (slurm_load_jobs(0, &message, SHOW_ALL) != SLURM_SUCCESS) {
        listing.error = std::string("slurmctld does not answer: ") + slurm_strerror(errno);
        return listing;
    }
    const std::unique_ptr<job_info_msg_t, FreeJobs> owner(message);
    UserNames users;
    for (uint32_t i = 0; i < message->record_count; ++i)
        listing.jobs.push_back(listed(message->job_array[i], users));
    count_extensions(listing.jobs);
    return listing;
}

std::optional<ClusterGpus> count_cluster_gpus() {
    init_slurm_library();
    node_info_msg_t *message = nullptr;
    if (slurm_load_node(0, &message, SHOW_ALL) != SLURM_SUCCESS) return std::nullopt;
    const std::unique_ptr<node_info_msg_t, FreeNodes> owner(message);
    ClusterGpus gpus;
    for (const controller::NodeRecord &node : node_records(*message, partition_info_msg_t{})) {
        gpus.total += node.gpus;
        if (!node.usable) gpus.away += node.gpus;
    }
    return gpus;
}

std::vector<std::string> list_partitions() {
    init_slurm_library();
    partition_info_msg_t *message = nullptr;
    if (slurm_load_partitions(0, &message, SHOW_ALL) != SLURM_SUCCESS) return {};
    const std::unique_ptr<partition_info_msg_t, FreePartitions> owner(message);
    std::vector<std::string> names;
    for (uint32_t i = 0; i < message->record_count; ++i)
        names.push_back(text(message->partition_array[i].name));
    return names;
}

std::vector<std::string_view> state_names() {
    std::vector<std::string_view> names{"all", "COMPLETING", "CG"};
    for (const StateName &entry : kStates) names.insert(names.end(), {entry.name, entry.brief});
    return names;
}

bool is_user(const std::string &name) {
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
    return number || getpwnam(name.c_str()) != nullptr;
}

}  // namespace ringrt::slurm
