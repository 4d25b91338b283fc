// SPDX-License-Identifier: BSD-3-Clause
// Slurm in virtual time, as the controller sees it: the plugin's own loop (slurm_plugin/controller)
// runs against it unchanged, and its decisions can be compared with those on a real cluster.
//
// Modelled are what the loop depends on: submission holds a malleable job for a while, a requeue
// sets a start time 121 s ahead, a job completes before it is pending again, the queue starts in
// order of priority with backfill, a program heeds the signal, saves and has itself requeued.
// Daemons do not fail here; the tests' fake cluster is for that.
#pragma once

#include <map>
#include <vector>

#include "sim/slurm/scenario.h"
#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/event.h"

namespace ringrt::sim {

class SimCluster final : public controller::Cluster {
  public:
    static constexpr double kTick_s = 0.25;
    static constexpr double kStart_s = 1'000'000'000;  // Unix time at which a scenario begins

    // The scenario must outlive the cluster. Jobs are numbered from 1 in the order of submission.
    explicit SimCluster(const Scenario &scenario);

    void tick();  // kTick_s on
    [[nodiscard]] double now_s() const { return now_s_; }
    [[nodiscard]] bool is_over() const { return finished_ == scenario_.workload.jobs.size(); }

    controller::RpcStatus observe(controller::Observation &out) override;
    controller::RpcStatus write_intent(uint32_t id, const std::string &admin_comment,
                                       std::optional<int64_t> nice) override;
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

    // What became of each job, as the other runs report it. lost_gpu_s: from the signal's save to
    // running again.
    [[nodiscard]] RunResult result() const;

  private:
    struct Job {
        controller::JobRecord record;
        const JobSpec *spec = nullptr;
        const ProgramSpec *program = nullptr;
        bool malleable = false, first = false, requeued = false, up = false, flagged = false;
        double completing_until_s = 0, save_until_s = 0, told_s = 0;
        double step = 0, first_step = 0;
        double ran_from_s = 0;
        JobResult result;
    };

    void submit();
    void run(Job &job);
    void report(Job &job);
    void stop(Job &job, bool requeued);
    void finish_completing(Job &job);
    void schedule();
    bool start(Job &job);
    [[nodiscard]] double step_s(const Job &job) const;
    [[nodiscard]] Job *find(uint32_t id);
    [[nodiscard]] std::vector<int> free_gpus() const;

    const Scenario &scenario_;
    double now_s_ = kStart_s;
    std::size_t submitted_ = 0, finished_ = 0;
    std::map<uint32_t, Job> jobs_;
};

}  // namespace ringrt::sim
