// SPDX-License-Identifier: GPL-2.0-or-later
// SlurmCluster's requeues: of jobs that have left and of which slurmctld, killed, does not know it.
#include <algorithm>
#include <ctime>
#include <optional>
#include <string_view>

#include "slurm_plugin/slurm/slurm_cluster.h"
#include "slurm_plugin/slurm/slurm_records.h"

namespace ringrt::slurm {
namespace {

using controller::RpcStatus;

// From a job's start until its script can be asked for on its node: as long as Slurm itself waits
// before it takes one for missing, for a prolog may take long. None: slurmctld does not say.
std::optional<time_t> launch_s() {
    slurm_conf_t *conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return std::nullopt;
    const time_t seconds = conf->batch_start_timeout + std::min<time_t>(10, conf->msg_timeout);
    free_conf(conf);
    return seconds;
}

}  // namespace

RpcStatus SlurmCluster::still_runs(uint32_t job_id) {
    const auto known = malleable_.find(job_id);
    if (known == malleable_.end()) return RpcStatus::not_found;
    JobMessage found;
    const RpcStatus said = load_job(job_id, found);
    if (said == RpcStatus::ok) {
        const slurm_job_info_t &job = found->job_array[0];
        if (record_of(job).phase == controller::JobPhase::running &&
            job.restart_cnt == known->second.restarts)
            return RpcStatus::ok;
    }
    note_moving(job_id);
    return said == RpcStatus::unreachable ? said : RpcStatus::busy;
}

// A job whose nodes have all said that they are done with it waits at once after its requeue. Where
// there is no accounting database, Slurm 22.05 then keeps the old run's allocation in the job (a
// waiting job with nodes), and every step of the next run is refused. Requeuing a job that has
// ended clears it.
void SlurmCluster::clear_up(uint32_t job_id, int restarts) {
    JobMessage found;
    if (load_job(job_id, found) != RpcStatus::ok) return;
    const slurm_job_info_t &job = found->job_array[0];
    if (job.job_state != JOB_PENDING || job.restart_cnt != restarts + 1) return;
    if (bounded_text(job.nodes, 1).empty()) return;
    if (answer(cancel(job_id), "slurm_kill_job") != RpcStatus::ok) return;
    cancelled_by_us_.insert(job_id);
    requeue_cancelled();
}

// Until it is known that they wait again, or are gone: else a job would be lost.
void SlurmCluster::requeue_cancelled() {
    RpcStatus said = RpcStatus::ok;
    std::erase_if(cancelled_by_us_, [&](uint32_t job_id) {
        if (said != RpcStatus::unreachable)
            said = requeue_failed(job_id);  // each can take a time-out
        return said != RpcStatus::busy && said != RpcStatus::unreachable;
    });
}

RpcStatus SlurmCluster::requeue_failed(uint32_t job_id) {
    note_moving(job_id);
    return answer(timed(Call::requeue, [&] { return requeue_ended(job_id); }), "slurm_requeue");
}

// ok: Slurm believes that it runs, and its node knows nothing of it.
RpcStatus SlurmCluster::is_gone(uint32_t job_id) {
    const auto known = malleable_.find(job_id);
    if (known == malleable_.end() || known->second.batch_host.empty()) return RpcStatus::refused;
    const std::optional<time_t> launched_s = launch_s();
    if (!launched_s || std::time(nullptr) - known->second.start < *launched_s)
        return RpcStatus::refused;
    slurm_step_id_t batch = step_of(job_id, SLURM_BATCH_SCRIPT);
    job_step_pids_response_msg_t *pids = nullptr;
    const int rc = timed(Call::list_pids, [&] {
        return slurm_job_step_get_pids(&batch, known->second.batch_host.data(), &pids);
    });
    if (pids != nullptr) slurm_job_step_pids_response_msg_free(pids);
    // A step without a process is not gone: it waits to tell slurmctld how the job has ended.
    if (rc != ESLURM_INVALID_JOB_ID) return RpcStatus::refused;
    // Slurm says ok to a requeue also where the job has ended or waits by now.
    return still_runs(job_id) == RpcStatus::ok ? RpcStatus::ok : RpcStatus::refused;
}

RpcStatus SlurmCluster::complete_if_gone(uint32_t job_id) {
    if (is_gone(job_id) != RpcStatus::ok) return RpcStatus::refused;
    const RpcStatus completed =
        answer(timed(Call::complete, [&] { return complete(job_id); }), "slurm_complete_job");
    note_moving(job_id);
    return completed;
}

RpcStatus SlurmCluster::requeue_if_gone(uint32_t job_id) {
    if (is_gone(job_id) != RpcStatus::ok) return RpcStatus::refused;
    const int restarts = malleable_.at(job_id).restarts;
    const RpcStatus requeued =
        answer(timed(Call::requeue, [&] { return requeue_running(job_id); }), "slurm_requeue");
    note_moving(job_id);
    if (requeued == RpcStatus::ok) clear_up(job_id, restarts);
    return requeued;
}

}  // namespace ringrt::slurm
