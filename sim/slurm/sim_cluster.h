// SPDX-License-Identifier: BSD-3-Clause
// Slurm in virtual time, as the controller sees it: the plugin's own loop (slurm_plugin/controller)
// runs against it unchanged, and its decisions can be compared with those on a real cluster.
//
// slurmctld.h has what slurmctld does to a job. Here are submission, which holds a malleable job
// for a while, and programs that heed the signal, save and have themselves requeued. Daemons do
// not fail here; the tests' fake cluster is for that.
//
// Time goes in ticks of kTick_s, of which those at which nothing can happen are left out.
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

    // What the site names must outlive the cluster. Jobs are numbered from 1 in the order of
    // submission.
    explicit SimCluster(const Site &site);

    // The next tick at which something happens by itself; infinite where nothing will.
    [[nodiscard]] double next_event_s() const;
    // To the first tick at or after `until_s`, which must not be later than the next event's.
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

    // What became of each job, as the other runs report it.
    [[nodiscard]] RunResult result() const;

  private:
    struct Job {
        controller::JobRecord record;
        const JobSpec *spec = nullptr;
        const ProgramSpec *program = nullptr;
        std::size_t index = 0;  // into the workload
        bool malleable = false, requeued = false, up = false, flagged = false;
        bool queued = false;  // it waits, and its start time has come
        double next_s = 0;    // when something happens to it by itself
        double up_at_s = 0;   // while it runs: its runtime is up, or will be
        double completing_until_s = 0, save_until_s = 0;
        double ran_from_s = 0, stopped_s = 0;  // of this run; when its last step before a save was
        Training training;
        double trained_to_s = 0;  // the training stands where it is then
        double steps = 0, first_step = 0;
        double told_s = 0;
        int reports = 0;     // of this run
        double share_s = 0;  // share_s_ when it arrived
        JobResult result;
    };

    void submit();
    void submit(std::size_t index);
    void run(Job &job);
    void come_up(Job &job);
    void train(Job &job, double until_s);
    bool tell_what_is_due(Job &job);
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
    std::map<uint32_t, Job> jobs_;  // those that Slurm still shows
    std::vector<int> free_;         // GPUs, by node
    std::vector<controller::NodeRecord> nodes_;
    bool queue_changed_ = false;
    double share_s_ = 0;  // the time integral of a fair share of the GPUs
    int active_ = 0;      // jobs that have arrived and not finished
    uint64_t version_ = 1;
    double refreshed_s_ = 0;  // when what jobs tell was last looked at
    RunResult result_;
};

}  // namespace ringrt::sim
