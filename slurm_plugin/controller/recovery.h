// SPDX-License-Identifier: BSD-3-Clause
// What slurmctld has forgotten when it was killed, put right. It saves its state every few seconds
// only, so after a restart
// - an orphan shows as running, and its node knows nothing of it. It had left for its resize and is
//   requeued, or it had ended: the journal tells which. Without this it would show as running for
//   many minutes.
// - a job shows as FAILED by SIGTERM: slurmctld had begun its requeue, and forgot that. It is
//   requeued.
// - a job that was just starting again shows as FAILED by its script: slurmctld ended while srun
//   asked it for the allocation, and srun failed ("Unable to confirm allocation"; so it does
//   without ringrt, but a job that is not resized starts only once). It is requeued, once.
// So is one that failed soon after a resize, which goes back to its size before (probation.h).
// And a node's word that it is done with a job may come when slurmctld has forgotten that the job
// left: up to 24.11.5 it takes the node from the job that it believes to run
// (job_epilog_complete()). Requeued without any node, the job would wait with its old run's nodes,
// or start at once: no step of that run is possible, and its GPUs stay in use until slurmctld is
// restarted. Requeuing a job that has ended clears this, so it is cancelled and requeued.
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

    // In each pass, whether the controller acts or only looks.
    void begin(double now_s) {
        if (!begun_s_) begun_s_ = now_s;
        if (!first_pass_s_) first_pass_s_ = now_s;
    }
    // The controller before this one, whose slurmctld was not killed, saw the job until now. It has
    // not released it since: a slurmctld that is in a hurry may go on without its last seconds.
    [[nodiscard]] bool was_watched(uint32_t job_id, const std::vector<NodeRecord> &nodes,
                                   double now_s) const;
    // First in each pass in which it acts: requeues what a forgotten requeue or a stale allocation
    // needs. The events are to be logged.
    std::vector<Event> requeue_lost(const Observation &observation, double now_s);
    // Ended on record, and on its way back: it has not ended.
    [[nodiscard]] bool is_returning(uint32_t job_id) const { return returning_.contains(job_id); }
    // Of one that returns because it failed soon after a resize.
    [[nodiscard]] std::optional<Probation> probation_of(uint32_t job_id) const;

    // In each pass: the jobs that ran when this began are probed, twice, for a job takes a while to
    // go. One that is recovered becomes `completing` in `jobs`.
    std::vector<Event> probe_orphans(std::vector<MalleableJob> &jobs, double now_s);
    // Is a job on its way back?
    [[nodiscard]] bool is_busy() const { return !requeued_.empty() || !returning_.empty(); }
    // Is there something to do before the cluster changes?
    [[nodiscard]] bool is_due(double now_s) const;

    struct Found {
        Liveness liveness = Liveness::alive;
        RpcStatus repaired = RpcStatus::refused;  // ok: requeued, or completed
        std::optional<Event> event;
    };
    // Requeues or completes the job if it is gone.
    Found recover(const JobRecord &record);

  private:
    struct Probe {
        uint32_t job_id = 0;
        int restarts = 0;
        double due_s = 0;
        double retry_s = 10;  // until the next try where nobody answered; doubles
        int looks_left = 2;
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
    std::map<uint32_t, int> requeued_;              // by us, and their restart counts before
    std::map<uint32_t, Return> returning_;          // ended on record
    std::set<uint32_t> started_again_;              // once each
    std::set<std::pair<uint32_t, int>> failed_at_;  // a job and its size: once each
};

}  // namespace ringrt::controller
