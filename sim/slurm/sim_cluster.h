// SPDX-License-Identifier: BSD-3-Clause
// Slurm in virtual time, as seen by the controller. The plugin's own loop (slurm_plugin/controller)
// runs against it unchanged, so its decisions can be compared with those on a real cluster.
//
// slurmctld.h models what slurmctld does to a job. This class adds submission, which delays a
// malleable job for a while, and programs that react to the signal, save and request their requeue.
// Daemons never fail here; the tests' fake cluster covers failures.
//
// Time advances in ticks of kTick_s; ticks without events are skipped.
#pragma once

#include <map>
#include <vector>

#include "sim/slurm/program.h"
#include "sim/slurm/slurmctld.h"
#include "slurm_plugin/controller/cluster.h"

namespace ringrt::sim {

class SimCluster final : public controller::Cluster {
  public:
    static constexpr double kStart_s = 1'000'000'000;  // Unix time at which a site's trace begins

    // What `site` points to must outlive the cluster. Jobs are numbered from 1 in submission order.
    explicit SimCluster(const Site &site);

    // The next tick with an event; infinite if there is none.
    [[nodiscard]] double next_event_s() const;
    // Advances to the first tick at or after `until_s`, which must not pass the next event.
    void advance_to(double until_s);
    [[nodiscard]] double now_s() const { return now_s_; }
    [[nodiscard]] bool is_over() const { return finished_ == site_.workload->jobs.size(); }
    [[nodiscard]] bool is_empty() const { return jobs_.empty() && submitted_ > 0; }
    [[nodiscard]] std::size_t finished() const { return finished_; }

    controller::RpcStatus observe(controller::Observation &out) override;
    controller::RpcStatus write_intent(uint32_t id, const std::string &admin_comment,
                                       const controller::Settings &settings) override;
    controller::RpcStatus update_pending(uint32_t id,
                                         const controller::PendingUpdate &update) override;
    controller::RpcStatus signal_steps(uint32_t id, int signal) override;
    // Nothing fails here, so there is nothing to repair.
    controller::RpcStatus confirm_run(uint32_t) override { return controller::RpcStatus::ok; }
    controller::Liveness probe_run(uint32_t) override { return controller::Liveness::alive; }
    controller::RpcStatus requeue_running(uint32_t) override {
        return controller::RpcStatus::refused;
    }
    controller::RpcStatus requeue_ended(uint32_t) override {
        return controller::RpcStatus::refused;
    }
    controller::RpcStatus complete(uint32_t) override { return controller::RpcStatus::refused; }
    controller::RpcStatus cancel(uint32_t) override { return controller::RpcStatus::refused; }
    controller::RpcStatus bill_anew(uint32_t) override { return controller::RpcStatus::ok; }

    // The results of the jobs, in the format of the other runs.
    [[nodiscard]] RunResult result() const;

  private:
    struct Job {
        controller::JobRecord record;
        const JobSpec *spec = nullptr;
        const ProgramSpec *program = nullptr;
        std::size_t index = 0;  // into the workload
        bool malleable = false, requeued = false, up = false, flagged = false;
        bool queued = false;  // pending, and its start time has come
        double next_s = 0;    // time of its next event
        double up_at_s = 0;   // while running: time at which its runtime is up
        double completing_until_s = 0, save_until_s = 0;
        double ran_from_s = 0, stopped_s = 0;  // start of this run; end of its last step
        Training training;
        double trained_to_s = 0;  // time up to which `training` has advanced
        double steps = 0, first_step = 0;
        double reported_s = 0;
        int reports = 0;     // in this run
        double share_s = 0;  // share_s_ at its arrival
        JobResult result;
    };

    void submit();
    void submit(std::size_t index);
    void run(Job &job);
    void come_up(Job &job);
    void train(Job &job, double until_s);
    [[nodiscard]] static double report_interval_s(const Job &job);
    bool send_due_reports(Job &job);
    void report(Job &job);
    void stop(Job &job, bool requeued);
    void finish_completing(Job &job);
    void note_span(const Job &job);
    void record_fairness(Job &job) const;
    void plan_next(Job &job) const;
    void schedule();
    void start(Job &job, Place place);
    [[nodiscard]] Job *find(uint32_t id);
    void forget_finished();
    void changed() { ++version_; }

    Site site_;
    double now_s_ = kStart_s;
    std::size_t submitted_ = 0, finished_ = 0;
    std::map<uint32_t, Job> jobs_;  // jobs that Slurm still shows
    std::vector<int> free_;         // GPUs, by node
    std::vector<controller::NodeRecord> nodes_;
    bool queue_changed_ = false;
    double share_s_ = 0;  // time integral of a fair share of the GPUs
    int active_ = 0;      // jobs that have arrived and not finished
    uint64_t version_ = 1;
    double refreshed_s_ = 0;  // last refresh of the jobs' reports
    RunResult result_;
};

}  // namespace ringrt::sim
