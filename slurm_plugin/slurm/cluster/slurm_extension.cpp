// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster: submits an extension of a running job (doc/live.md).
//
// SlurmUser and root may submit as any user. The extension runs a fixed line, which runs a file of
// the owner as the owner. The only data of the owner read here is Slurm's record of the base. Slurm
// applies the owner's limits to the extension as to any job.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/cluster/slurm_lists.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"

namespace ringrt::slurm {

using controller::RpcStatus;

namespace {

constexpr char kPath[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

// For the ID of its "nobody", Slurm uses the submitter.
bool is_real_id(uint32_t id) {
    constexpr uint32_t kSlurmsNobody = 99;
    return id != NO_VAL && id != INFINITE && id != kSlurmsNobody;
}

// The texts that a job description points to.
struct Texts {
    std::string script, name, out, comment, tres, node_tres;
    controller::ExtensionPlace place;
    std::vector<std::string> environment;
    std::vector<char *> entries;
};

Texts texts_of(const slurm_job_info_t &base, const controller::PendingUpdate::Size &size,
               const records::Extension &extension, const controller::ExtensionPlace &place) {
    const std::string id = std::to_string(extension.base);
    Texts out{.script = records::extension_script(extension.base),
              .name = bounded_text(base.name, 64) + "+" + std::to_string(extension.level),
              .out = bounded_text(base.work_dir) + "/ringrt-extensions-" + id + ".out",
              .comment = records::format_extension(extension),
              .tres = format_gpu_tres(bounded_text(base.tres_per_job), size.gpus),
              .node_tres = with_gpus(bounded_text(base.tres_per_node),
                                     bounded_text(base.tres_per_job), size.gpus / size.nodes),
              .place = place};
    out.environment = {kPath, std::string(records::kExtends) + "=" + id,
                       std::string(records::kExtensionTasks) + "=" + std::to_string(size.tasks)};
    for (std::string &entry : out.environment) out.entries.push_back(entry.data());
    return out;
}

// In whole minutes, rounded down.
uint32_t minutes_left(const slurm_job_info_t &base) {
    if (base.time_limit == INFINITE || base.time_limit == NO_VAL) return base.time_limit;
    const time_t left_s = base.end_time - std::time(nullptr);
    return static_cast<uint32_t>(std::max<time_t>(1, left_s / 60));
}

void set_what_it_runs(const slurm_job_info_t &base, Texts &texts, job_desc_msg_t &job) {
    job.user_id = base.user_id;  // otherwise it would run as the submitter
    job.group_id = base.group_id;
    job.script = texts.script.data();
    job.environment = texts.entries.data();
    job.env_size = static_cast<uint32_t>(texts.entries.size());
    job.name = texts.name.data();
    job.work_dir = base.work_dir;
    job.std_out = texts.out.data();
    job.open_mode = OPEN_MODE_APPEND;
    job.admin_comment = texts.comment.data();
    job.requeue = 0;
    job.time_limit = minutes_left(base);
}

// Owner and place, as for the base, unless the site configures otherwise.
void set_where(const slurm_job_info_t &base, Texts &texts, job_desc_msg_t &job) {
    job.account = base.account;
    job.qos = texts.place.qos.empty() ? base.qos : texts.place.qos.data();
    job.partition = texts.place.partition.empty() ? base.partition : texts.place.partition.data();
    job.reservation = base.resv_name;
    job.features = base.features;
    job.exc_nodes = base.exc_nodes;
    job.wckey = base.wckey;
    job.nice = base.nice;
}

void set_resources(const slurm_job_info_t &base, const controller::PendingUpdate::Size &size,
                   Texts &texts, job_desc_msg_t &job) {
    job.tres_per_job = texts.tres.data();
    job.tres_per_node = texts.node_tres.data();
    job.num_tasks = static_cast<uint32_t>(size.tasks);
    job.min_nodes = job.max_nodes = static_cast<uint32_t>(size.nodes);
    job.ntasks_per_node = static_cast<uint16_t>(size.tasks / size.nodes);
    job.cpus_per_task = base.cpus_per_task;
    job.min_cpus = static_cast<uint32_t>(size.cpus);
    job.pn_min_memory = base.pn_min_memory;
    job.mem_per_tres = base.mem_per_tres;
}

}  // namespace

// Only a filter. Slurm's answer depends on running jobs and reservations. It adds the needs of all
// pending jobs ahead, even of those that cannot start (_delayed_job_start_time() in slurmctld): the
// answer is useless while any job is pending, including another extension. If Slurm is not queried
// or does not answer, the submission decides. The query holds slurmctld's locks: if it is slow, it
// is skipped for a while.
bool SlurmCluster::would_wait(job_desc_msg_t &job) {
    constexpr time_t kNow_s = 2;  // a completing job may still hold its GPUs
    constexpr std::chrono::seconds kSlow(1), kPause(300);
    const auto waits = [](const controller::JobRecord &record) {
        return record.phase == controller::JobPhase::pending;
    };
    const bool is_listed = !wants_all_;  // no job was submitted since the listing
    const Clock::time_point asked = Clock::now();
    if (!is_listed || std::ranges::any_of(seen_.jobs, waits) || asked < will_run_from_)
        return false;
    will_run_response_msg_t *answer = nullptr;
    const int rc = timed(Call::will_run, [&] { return slurm_job_will_run2(&job, &answer); });
    if (Clock::now() - asked > kSlow) will_run_from_ = Clock::now() + kPause;
    if (answer == nullptr) return false;
    bool is_later = answer->start_time > std::time(nullptr) + kNow_s;
    // GPUs above MIN are borrowed: no job is preempted for them.
    for_each<uint32_t>(answer->preemptee_job_id, [&](uint32_t) { is_later = true; });
    slurm_free_will_run_response_msg(answer);
    return rc == SLURM_SUCCESS && is_later;
}

RpcStatus SlurmCluster::extend(uint32_t base_id, const controller::PendingUpdate::Size &size,
                               const records::Extension &extension,
                               const controller::ExtensionPlace &place) {
    const std::optional<SiteConf> conf = site_conf();
    if (!conf) return RpcStatus::unreachable;
    if (conf->has_client_ids) {
        last_error_ = "AuthInfo=use_client_ids";
        return RpcStatus::refused;
    }
    LoadedJob found;
    if (const RpcStatus status = load_job(base_id, found); status != RpcStatus::ok) return status;
    const slurm_job_info_t &base = *found;
    const bool runs = (base.job_state & JOB_STATE_BASE) == JOB_RUNNING &&
                      (base.job_state & JOB_COMPLETING) == 0 && base.restart_cnt == extension.run;
    if (!runs) return RpcStatus::busy;
    if (!is_real_id(base.user_id) || !is_real_id(base.group_id) || base.work_dir == nullptr ||
        size.gpus < 1 || size.nodes < 1)
        return RpcStatus::refused;
    Texts texts = texts_of(base, size, extension, place);
    job_desc_msg_t job;
    slurm_init_job_desc_msg(&job);
    set_what_it_runs(base, texts, job);
    set_where(base, texts, job);
    set_resources(base, size, texts, job);
    if (would_wait(job)) return RpcStatus::later;
    submit_response_msg_t *response = nullptr;
    const int rc = timed(Call::submit, [&] { return slurm_submit_batch_job(&job, &response); });
    const RpcStatus status = status_of(rc, "slurm_submit_batch_job");
    if (response != nullptr) slurm_free_submit_response_response_msg(response);
    wants_all_ = true;  // lists it at once
    return status;
}

}  // namespace ringrt::slurm
