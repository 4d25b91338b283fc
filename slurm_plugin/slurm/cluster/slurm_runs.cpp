// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster: queries and ends a job's run.
#include <algorithm>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/cluster/slurm_lists.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"

namespace ringrt::slurm {

using controller::Liveness;
using controller::RpcStatus;

namespace {

constexpr std::chrono::seconds kConfEvery{60};

}  // namespace

RpcStatus SlurmCluster::confirm_run(uint32_t job_id) {
    const auto known = malleable_.find(job_id);
    if (known == malleable_.end()) return RpcStatus::not_found;
    LoadedJob found;
    const RpcStatus status = load_job(job_id, found);
    if (status == RpcStatus::ok) {
        if (job_record(*found, seen_.nodes).phase == controller::JobPhase::running &&
            found->restart_cnt == known->second.restarts)
            return RpcStatus::ok;
    }
    mark_hot(job_id);
    return status == RpcStatus::unreachable ? status : RpcStatus::busy;
}

std::optional<SlurmCluster::SiteConf> SlurmCluster::site_conf() {
    if (conf_ && Clock::now() - conf_asked_ < kConfEvery) return conf_;
    slurm_conf_t *conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return std::nullopt;
    conf_ = SiteConf{
        .launch_s = conf->batch_start_timeout + std::min<time_t>(10, conf->msg_timeout),
        .has_slurmdbd =
            bounded_text(conf->accounting_storage_type, 256).find("slurmdbd") != std::string::npos,
        .cpus_per_gpu = default_cpus_per_gpu(conf->job_defaults_list),
        .nice_sets_priority = bounded_text(conf->priority_type, 256) == "priority/basic",
        .enforces_limits = (conf->accounting_storage_enforce & kEnforceLimits) != 0,
        .limits_are_safe = (conf->accounting_storage_enforce & kEnforceSafe) != 0,
        .ends_steps = conf->wait_time != 0,
        .has_client_ids = bounded_text(conf->authinfo).find("use_client_ids") != std::string::npos};
    conf_asked_ = Clock::now();
    free_conf(conf);
    return conf_;
}

Liveness SlurmCluster::probe_run(uint32_t job_id) {
    const auto known = malleable_.find(job_id);
    if (known == malleable_.end()) return Liveness::alive;
    Details &details = known->second;
    if (details.batch_host.empty()) return Liveness::too_early;  // its nodes are being prepared
    const std::optional<SiteConf> conf = site_conf();
    if (!conf) return Liveness::unknown;
    if (std::time(nullptr) - details.start < conf->launch_s) return Liveness::too_early;
    slurm_step_id_t batch = step_of(job_id, SLURM_BATCH_SCRIPT);
    job_step_pids_response_msg_t *pids = nullptr;
    const int rc = timed(Call::list_pids, [&] {
        return slurm_job_step_get_pids(&batch, details.batch_host.data(), &pids);
    });
    if (pids != nullptr) slurm_job_step_pids_response_msg_free(pids);
    // A step without a process is not gone: it still has to report the job's end to slurmctld.
    if (rc == SLURM_SUCCESS) return Liveness::alive;
    if (rc != ESLURM_INVALID_JOB_ID) return Liveness::unknown;
    // Slurm accepts a requeue even if the job has ended or is pending by now.
    switch (confirm_run(job_id)) {
        case RpcStatus::ok:
            return Liveness::gone;
        case RpcStatus::unreachable:
            return Liveness::unknown;
        default:
            return Liveness::alive;
    }
}

RpcStatus SlurmCluster::signal_steps(uint32_t job_id, int signal) {
    job_step_info_response_msg_t *steps = nullptr;
    const int rc = timed(Call::load_steps, [&] { return load_steps(job_id, &steps); });
    if (rc != SLURM_SUCCESS) return status_of(rc, "slurm_get_job_steps");
    const bool has_step = std::ranges::any_of(
        std::span(steps->job_steps, steps->job_step_count), [&](const job_step_info_t &step) {
            return step.step_id.job_id == job_id &&
                   step.step_id.step_id < SLURM_MAX_NORMAL_STEP_ID &&
                   (step.state & JOB_STATE_BASE) == JOB_RUNNING;
        });
    free_steps(steps);
    if (!has_step) return RpcStatus::busy;
    const std::string name = name_of(job_id);
    const int signalled = timed(
        Call::signal, [&] { return signal_steps_of(name.c_str(), static_cast<uint16_t>(signal)); });
    return status_of(signalled, "slurm_kill_job");
}

RpcStatus SlurmCluster::requeue_running(uint32_t job_id) {
    return change(job_id, Call::requeue, "slurm_requeue",
                  [&] { return slurm::requeue_running(job_id); });
}

RpcStatus SlurmCluster::requeue_ended(uint32_t job_id) {
    return change(job_id, Call::requeue, "slurm_requeue",
                  [&] { return slurm::requeue_ended(job_id); });
}

RpcStatus SlurmCluster::complete(uint32_t job_id) {
    return change(job_id, Call::complete, "slurm_complete_job",
                  [&] { return slurm::complete(job_id); });
}

// Slurm computes billable TRES at a job's first start, and later only if the job was resized after
// its start. An update of a running job's node list to all of its nodes counts as a resize: no
// process notices it, and accounting begins a new row. For a pending job it would request those
// nodes. A job that is requeued at this moment is completing, and Slurm refuses the update.
RpcStatus SlurmCluster::bill_anew(uint32_t job_id) {
    if (!RINGRT_SLURM_AT_LEAST(24, 11)) return RpcStatus::ok;
    const std::optional<SiteConf> conf = site_conf();
    if (!conf) return RpcStatus::unreachable;
    if (!conf->has_slurmdbd) return RpcStatus::ok;  // nothing is billed
    return set_running_nodes(job_id, {});
}

bool SlurmCluster::can_keep_nodes() {
    if (!RINGRT_SLURM_AT_LEAST(24, 11)) return false;
    const std::optional<SiteConf> conf = site_conf();
    return conf && conf->has_slurmdbd && !conf->ends_steps;
}

// The owner could do the same. It only gives up what the job has, so no limit is lifted.
RpcStatus SlurmCluster::keep_nodes(uint32_t job_id, const std::vector<int> &nodes) {
    std::string names;
    for (const int node : nodes) {
        if (node < 0 || static_cast<std::size_t>(node) >= seen_.nodes.size())
            return RpcStatus::refused;
        names += (names.empty() ? "" : ",") + seen_.nodes[static_cast<std::size_t>(node)].name;
    }
    return names.empty() ? RpcStatus::refused : set_running_nodes(job_id, std::move(names));
}

RpcStatus SlurmCluster::set_running_nodes(uint32_t job_id, std::string nodes) {
    const auto known = malleable_.find(job_id);
    if (known == malleable_.end()) return RpcStatus::not_found;
    LoadedJob found;
    if (const RpcStatus status = load_job(job_id, found); status != RpcStatus::ok) return status;
    const slurm_job_info_t &job = *found;
    if (job_record(job, seen_.nodes).phase != controller::JobPhase::running ||
        job.restart_cnt != known->second.restarts || job.nodes == nullptr)
        return RpcStatus::busy;
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    set_job_id(change, job_id);
    change.req_nodes = nodes.empty() ? job.nodes : nodes.data();
    return this->change(job_id, Call::update_job, "slurm_update_job",
                        [&] { return slurm_update_job(&change); });
}

RpcStatus SlurmCluster::cancel(uint32_t job_id) {
    mark_hot(job_id);
    return status_of(slurm::cancel(name_of(job_id).c_str()), "slurm_kill_job");
}

// An extension is not in the map: it is in no array.
std::string SlurmCluster::name_of(uint32_t job_id) const {
    const auto known = malleable_.find(job_id);
    return known != malleable_.end() ? known->second.name : std::to_string(job_id);
}

}  // namespace ringrt::slurm
