// SPDX-License-Identifier: BSD-3-Clause
// Repairs what slurmctld forgot when it was killed. It saves its state only every few seconds, so
// after a restart
// - an orphan shows as running, but its node has no record of it. It had left for its resize and is
//   requeued, or it had ended: the journal tells which. Without this repair it shows as running for
//   many minutes.
// - a job shows as FAILED by SIGTERM: slurmctld had begun its requeue and forgot it. The job is
//   requeued.
// - a job that was just restarting shows as FAILED by its script. slurmctld ended while srun
//   requested the allocation, and srun failed ("Unable to confirm allocation"). This also happens
//   without ringrt, but a job that is not resized starts only once. The job is requeued, once.
//
// A job that failed soon after a resize is also requeued, at its previous size (probation.h).
//
// A node may report the end of a job after slurmctld has forgotten that the job left. Up to 24.11.5
// slurmctld then takes the node from the job that it shows as running (job_epilog_complete()). If
// such a job without nodes is requeued, it stays pending with its old run's nodes or starts at
// once: no step of that run can start, and its GPUs stay in use until slurmctld is restarted.
// Requeuing an ended job clears this state, so the job is cancelled first and then requeued.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/journal.h"
#include "slurm_plugin/controller/probation.h"

namespace ringrt::controller {

class Recovery {
  public:
    explicit Recovery(Cluster &cluster) : cluster_(cluster) {}

    // begun_s: when a controller first acted here since slurmctld was started; none: now.
    void restore(Journal journal, std::optional<double> begun_s) {
        journal_ = std::move(journal);
        begun_s_ = begun_s;
    }

    // Call in each pass, in every mode.
    void begin(double now_s) {
        if (!begun_s_) begun_s_ = now_s;
        if (!first_pass_s_) first_pass_s_ = now_s;
    }
    // The previous controller, whose slurmctld was not killed, saw the job until now. It has not
    // released the job since: a slurmctld that restarts in a hurry may lose its last seconds.
    [[nodiscard]] bool was_watched(uint32_t job_id, const std::vector<NodeRecord> &nodes,
                                   double now_s) const;
    // Call first in each pass that acts. Requeues jobs with a forgotten requeue or a stale
    // allocation. The caller logs the events.
    std::vector<Event> requeue_lost(const Observation &observation, double now_s);
    // The record shows the job as ended, but it is being requeued: treat it as not ended.
    [[nodiscard]] bool is_returning(uint32_t job_id) const { return returning_.contains(job_id); }
    // For a job that is requeued because it failed soon after a resize.
    [[nodiscard]] std::optional<Probation> probation_of(uint32_t job_id) const;

    // Call in each pass. Probes twice the jobs that ran when this began, because a job takes a
    // while to end. A recovered job becomes `completing` in `jobs`.
    std::vector<Event> probe_orphans(std::vector<MalleableJob> &jobs, double now_s);
    // Whether a job is being requeued.
    [[nodiscard]] bool is_busy() const { return !requeued_.empty() || !returning_.empty(); }
    // Whether there is work before the cluster changes.
    [[nodiscard]] bool is_due(double now_s) const;

    struct Found {
        Liveness liveness = Liveness::alive;
        RpcStatus repaired = RpcStatus::refused;  // ok: requeued, or completed
        std::optional<Event> event;
    };
    // Requeues or completes the job if its node has no record of it.
    Found recover(const JobRecord &record);

  private:
    struct Probe {
        uint32_t job_id = 0;
        int restarts = 0;
        double due_s = 0;
        double retry_s = 10;  // until the next try after no answer; doubles
        int probes_left = 2;
    };
    struct Return {
        bool requeued = false;
        std::optional<Probation> probation;
    };
    static void retry_later(Probe &probe, double now_s);
    void list_running(const std::vector<MalleableJob> &jobs, double now_s);
    [[nodiscard]] bool was_taken_down(const JobRecord &record, double now_s) const;
    [[nodiscard]] bool has_lost_start(const JobRecord &record) const;
    [[nodiscard]] const Journal::Ending *ending_of_run(const JobRecord &record) const;
    bool clear_nodeless(const JobRecord &record, int restarts_before);
    RpcStatus cancel_to_requeue(uint32_t job_id);
    RpcStatus repair(const JobRecord &record, bool has_ended);
    void note_returns(const JobRecord &record, double now_s);
    bool requeue_until_done(const JobRecord &record, Return &back, std::vector<Event> &events,
                            double now_s);
    [[nodiscard]] std::optional<Event> event_of(const JobRecord &record, const Return &back,
                                                double now_s) const;

    Cluster &cluster_;
    Journal journal_;
    std::optional<double> begun_s_, first_pass_s_;
    bool has_listed_ = false;
    std::vector<Probe> probes_;
    std::map<uint32_t, int> requeued_;      // by this controller, with their restart counts before
    std::map<uint32_t, Return> returning_;  // jobs that show as ended
    std::set<uint32_t> started_again_;      // once for each job
    std::set<std::pair<uint32_t, int>> failed_at_;  // a job and its size: once for each pair
};

}  // namespace ringrt::controller
