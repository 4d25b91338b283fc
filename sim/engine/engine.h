// SPDX-License-Identifier: BSD-3-Clause
// Virtual time: jobs arrive, run, are resized by a policy, and finish.
//
// Between two decisions every running job advances by the truth of its profile, epoch by epoch; at
// a decision the policy, the same object as in the plugin, sees what an Estimator tells it of each
// job. A job that gets other seats pays its stop and restart first.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/placer.h"
#include "sim/engine/policy_spec.h"
#include "sim/engine/training.h"
#include "sim/workload/workload.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::sim {

struct GpuKind {
    std::string name;
    int nodes = 1, gpus_per_node = 1;
};

struct SimOptions {
    int nodes = 16;
    int gpus_per_node = 4;
    std::vector<GpuKind> kinds;  // of GPU, each on nodes of its own, instead of both; empty: one
    bool moves_kinds = true;     // jobs that run may go to another kind
    double restart_s = 30;   // GPUs held idle by a stop and restart, of jobs that do not say theirs
    double start_s = 30;     // by a first start
    double interval_s = 60;  // decisions at multiples of it; 0: at each arrival and finish
    double telemetry_s = 30;  // between two reports of a job to the plugin; 0: none
    Knowledge knowledge = Knowledge::oracle;
    double wrong_by = 0.3;
    uint64_t seed = 1;
    bool timeline = false;  // keep who held which GPUs
    int grade_every = 0;    // compare every so many decisions with the exact optimum; 0: none

    [[nodiscard]] int total_gpus() const;
};

// One job while it is in the system.
struct JobState : Training {
    const JobSpec *spec = nullptr;
    std::size_t index = 0;  // into the workload
    Seats seats;
    Shape shape;
    int gpus = 0;
    int samples = 0;     // of its last step; 0: it has made none
    double weight = 1;   // of one of its seconds, where it is
    double delay_s = 0;  // of a start that is still to pay
    double attained_gpu_s = 0;
    double lost_gpu_s = 0;  // of it, paid for starts after the first
    double share_s = 0;     // time integral of its fair share of GPUs
    double started_s = -1;
    double changed_s = 0;  // last change of seats
    double finished_s = -1;
    int starts = 0;
};

// What a stop and restart of the job truly costs.
[[nodiscard]] double restart_seconds(const JobSpec &spec, const SimOptions &options);

// Of a job that has finished: its completion time by that alone, at its own batch, on its share of
// the cluster: the GPUs divided by the jobs in the system, averaged over its life; of less than one
// GPU, that part of the time (Mahajan et al., Themis, NSDI 2020).
[[nodiscard]] double finish_time_fairness(const JobState &job, const SimOptions &options);

// What is told about jobs. Called from one thread.
class Estimator {
  public:
    virtual ~Estimator() = default;
    // The job ran `steps` steps of its present plan and shape.
    virtual void ran(const JobState &job, double steps) = 0;
    // Its restart has cost it so much.
    virtual void restarted(const JobState &job, double seconds) = 0;
    // Fills the speed, the steps left, the cost of a restart and what is believed.
    virtual void describe(const JobState &job, policy::Job &out) = 0;
    // The batch of a job whose batch adapts, on `shape`.
    virtual BatchPlan choose_batch(const JobState &job, const Shape &shape) = 0;
    virtual void forget(const JobState &job) = 0;
    // Those of all kinds of GPU, itself included: what is not known of one is told by another.
    virtual void meet(std::span<Estimator *const>) {}
};

struct JobResult {
    double start_s = -1, finish_s = -1;
    int restarts = 0;
    double gpu_s = 0, lost_gpu_s = 0;
    double fairness = 0;  // finish-time fairness: completion time / alone on its fair share
};

struct Span {  // for the timeline
    std::size_t job = 0;
    int node = 0, gpus = 0;
    double from_s = 0, to_s = 0;
};

struct RunResult {
    std::string workload, policy;
    std::vector<JobResult> jobs;
    std::vector<Span> spans;
    double makespan_s = 0, wall_s = 0;
    double decide_ms_max = 0;  // processor time of the longest decision
    uint64_t decisions = 0;
    uint64_t graded = 0;              // of them, compared with the exact optimum
    double gap_sum = 0, gap_max = 0;  // shares of the optimum that they fell short of
    bool stopped = false;  // by the user: jobs without finish_s were not simulated to their end
};

// `stop` ends the run early when it becomes true. `done` is told finished jobs as they come.
[[nodiscard]] RunResult simulate(const Workload &workload, const PolicySpec &policy,
                                 const SimOptions &options, const std::atomic<bool> *stop = nullptr,
                                 std::atomic<uint64_t> *done = nullptr);

[[nodiscard]] std::unique_ptr<Estimator> make_estimator(const PolicySpec &policy,
                                                        const SimOptions &options);
[[nodiscard]] std::unique_ptr<Estimator> make_learned(const PolicySpec &policy,
                                                      const SimOptions &options);

}  // namespace ringrt::sim
