// SPDX-License-Identifier: BSD-3-Clause
// Simulation in virtual time: jobs arrive, run, are resized by a policy, and finish.
//
// Between two decisions every running job advances by its true profile, epoch by epoch. At a
// decision the policy (the same object as in the plugin) sees what an Estimator reports about each
// job. A job that gets other seats first pays its stop and restart.
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

struct GpuType {
    std::string name;
    int nodes = 1, gpus_per_node = 1;
};

struct SimOptions {
    int nodes = 16;
    int gpus_per_node = 4;
    std::vector<GpuType> gpu_types;  // GPU types, each on its own nodes; empty: one, as above
    bool moves_gpu_types = true;     // running jobs may move to another type
    double restart_s = 30;   // GPUs are idle this long at a stop and restart; a job may override it
    double start_s = 30;     // the same at a first start
    double interval_s = 60;  // decisions at multiples of this; 0: at each arrival and finish
    bool pause = false;      // malleable jobs may be paused
    bool whole_restarts = false;  // a restarting job is not resized again, as in the plugin
    double telemetry_s = 30;      // between two reports of a job to the plugin; 0: none
    Knowledge knowledge = Knowledge::oracle;
    double wrong_by = 0.3;
    uint64_t seed = 1;
    bool timeline = false;  // record which job held which GPUs
    int grade_every = 0;    // compare every n-th decision with the exact optimum; 0: none

    [[nodiscard]] int total_gpus() const;
};

// One job while it is in the system.
struct JobState : Training {
    const JobSpec *spec = nullptr;
    std::size_t index = 0;  // into the workload
    Seats seats;
    Shape shape;
    int gpus = 0;
    int samples = 0;     // of its last step; 0: no step yet
    double weight = 1;   // value of one of its seconds, on its type
    double delay_s = 0;  // of a start, still to pay
    double attained_gpu_s = 0;
    double lost_gpu_s = 0;  // part of attained_gpu_s, paid for restarts
    double share_s = 0;     // time integral of its fair share of GPUs
    double started_s = -1;
    double changed_s = 0;  // last change of seats
    double finished_s = -1;
    int starts = 0;
};

// The true cost of a stop and restart of the job.
[[nodiscard]] double restart_seconds(const JobSpec &spec, const SimOptions &options);

// Finish-time fairness of a finished job: its completion time, divided by its time alone at its own
// batch on its fair share. The share is the GPUs divided by the jobs in the system, averaged over
// its life; a share below one GPU is a part of the time (Mahajan et al., Themis, NSDI 2020).
[[nodiscard]] double finish_time_fairness(const JobState &job, const SimOptions &options);

// What a policy can see of jobs. Called from one thread.
class Estimator {
  public:
    virtual ~Estimator() = default;
    // The job ran `steps` steps of its present plan and shape.
    virtual void ran(const JobState &job, double steps) = 0;
    // A restart of the job cost this many seconds.
    virtual void restarted(const JobState &job, double seconds) = 0;
    // Fills the speed, the steps left, the restart cost and the other estimates.
    virtual void describe(const JobState &job, policy::Job &out) = 0;
    // The batch on `shape` of a job that adapts its batch.
    virtual BatchPlan choose_batch(const JobState &job, const Shape &shape) = 0;
    virtual void forget(const JobState &job) = 0;
    // The estimators of all GPU types, this one included: each can fill gaps of another.
    virtual void meet(std::span<Estimator *const>) {}
};

struct JobResult {
    double start_s = -1, finish_s = -1;
    int restarts = 0;
    double gpu_s = 0, lost_gpu_s = 0;
    double fairness = 0;  // completion time / time alone on its fair share
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
    double decide_ms_max = 0;  // CPU time of the longest decision
    uint64_t decisions = 0;
    uint64_t graded = 0;              // decisions compared with the exact optimum
    double gap_sum = 0, gap_max = 0;  // the shares of the optimum that they missed
    bool stopped = false;  // by the user: jobs without finish_s were not simulated to the end
};

// `stop` ends the run early when it becomes true. `done` counts finished jobs during the run.
[[nodiscard]] RunResult simulate(const Workload &workload, const PolicySpec &policy,
                                 const SimOptions &options, const std::atomic<bool> *stop = nullptr,
                                 std::atomic<uint64_t> *done = nullptr);

[[nodiscard]] std::unique_ptr<Estimator> make_estimator(const PolicySpec &policy,
                                                        const SimOptions &options);
[[nodiscard]] std::unique_ptr<Estimator> make_learned(const PolicySpec &policy,
                                                      const SimOptions &options);

}  // namespace ringrt::sim
