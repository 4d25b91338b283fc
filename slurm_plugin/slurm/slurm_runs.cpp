// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster: a job's run, asked for and ended.
#include <ctime>
#include <optional>
#include <string_view>

#include "slurm_plugin/slurm/slurm_cluster.h"
#include "slurm_plugin/slurm/slurm_records.h"

namespace ringrt::slurm {

using controller::Liveness;
using controller::RpcStatus;

namespace {

constexpr std::chrono::seconds kConfEvery{60};

}  // namespace

RpcStatus SlurmCluster::confirm_run(uint32_t job_id) {
    const auto known = malleable_.find(job_id);
    if (known == malleable_.end()) return RpcStatus::not_found;
    JobMessage found;
    const RpcStatus status = load_job(job_id, found);
    if (status == RpcStatus::ok) {
        const slurm_job_info_t &job = found->job_array[0];
        if (job_record(job, seen_.nodes).phase == controller::JobPhase::running &&
            job.restart_cnt == known->second.restarts)
            return RpcStatus::ok;
    }
    mark_hot(job_id);
    return status == RpcStatus::unreachable ? status : RpcStatus::busy;
}

// From a job's start until its script can be asked for on its node: as long as Slurm itself waits
// before it takes one for missing, for a prolog may take long. None: slurmctld does not say.
std::optional<time_t> SlurmCluster::launch_time_s() {
    if (launch_time_cached_s_ && Clock::now() - launch_time_asked_ < kConfEvery)
        return launch_time_cached_s_;
    slurm_conf_t *conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return std::nullopt;
    launch_time_cached_s_ = conf->batch_start_timeout + std::min<time_t>(10, conf->msg_timeout);
    launch_time_asked_ = Clock::now();
    free_conf(conf);
    return launch_time_cached_s_;
}

Liveness SlurmCluster::probe_run(uint32_t job_id) {
    const auto known = malleable_.find(job_id);
    if (known == malleable_.end()) return Liveness::alive;
    Details &details = known->second;
    if (details.batch_host.empty()) return Liveness::too_early;  // its nodes are being prepared
    const std::optional<time_t> launch_s = launch_time_s();
    if (!launch_s) return Liveness::unknown;
    if (std::time(nullptr) - details.start < *launch_s) return Liveness::too_early;
    slurm_step_id_t batch = step_of(job_id, SLURM_BATCH_SCRIPT);
    job_step_pids_response_msg_t *pids = nullptr;
    const int rc = timed(Call::list_pids, [&] {
        return slurm_job_step_get_pids(&batch, details.batch_host.data(), &pids);
    });
    if (pids != nullptr) slurm_job_step_pids_response_msg_free(pids);
    // A step without a process is not gone: it waits to tell slurmctld how the job has ended.
    if (rc == SLURM_SUCCESS) return Liveness::alive;
    if (rc != ESLURM_INVALID_JOB_ID) return Liveness::unknown;
    // Slurm says ok to a requeue also where the job has ended or waits by now.
    switch (confirm_run(job_id)) {
        case RpcStatus::ok:
            return Liveness::gone;
        case RpcStatus::unreachable:
            return Liveness::unknown;
        default:
            return Liveness::alive;
    }
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

RpcStatus SlurmCluster::cancel(uint32_t job_id) {
    mark_hot(job_id);
    return status_of(slurm::cancel(job_id), "slurm_kill_job");
}

}  // namespace ringrt::slurm
