// SPDX-License-Identifier: BSD-3-Clause
// The nodes of one GPU type, the jobs that run on them or are pending for them, and the policy that
// decides among these jobs. A cluster with one GPU type is one pool.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "sim/engine/engine.h"

namespace ringrt::sim {

class Pool {
  public:
    // `jobs`: with their profiles on this type. The timeline numbers the nodes from `first_node`.
    Pool(const std::vector<JobSpec> &jobs, const PolicySpec &policy, const SimOptions &options,
         int first_node, RunResult &result);
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    [[nodiscard]] std::size_t size() const { return active_.size(); }
    [[nodiscard]] const JobState &job(std::size_t i) const { return active_[i]; }
    [[nodiscard]] Estimator &estimator() { return *estimator_; }
    [[nodiscard]] const policy::Capacity &capacity() const { return capacity_; }
    [[nodiscard]] const SimOptions &options() const { return options_; }

    // Seconds until the first of its jobs finishes if nothing changes.
    [[nodiscard]] double first_finish() const;
    void advance(double now, double seconds, double share);
    void retire(std::atomic<uint64_t> *done);
    void admit(std::size_t index);
    void decide(double now);
    void end(double now);  // ends the run: records the jobs that are still here

    // A job as the policy sees it here, wherever it is now.
    void describe(const JobState &job, double now, policy::Job &out, policy::SimFacts &facts);
    // Moves a job out of one pool and into another at the end of the pass. It holds no GPUs then.
    [[nodiscard]] JobState give_up(std::size_t index, double now);
    void take_in(JobState job);
    void weigh(std::size_t index, double weight);  // sets the value of one of its seconds here

  private:
    [[nodiscard]] double finish_estimate(const JobState &job) const;
    void advance(JobState &job, double begin, double seconds);
    void set_batch(JobState &job);
    void grade(const std::vector<policy::Allotment> &decision);
    void seat(const std::vector<int> &want, double now);
    void start(JobState &job, double now);
    void note_span(const JobState &job, const Seats &seats, double until);
    void record(const JobState &job);

    const std::vector<JobSpec> &jobs_;
    const PolicySpec &policy_;
    SimOptions options_;
    int first_node_;
    RunResult &result_;
    std::unique_ptr<Estimator> estimator_;
    Placer placer_;
    policy::Capacity capacity_;
    std::vector<JobState> active_;  // by arrival
    // The policy's input. These and seats_ are members to reuse their memory: a decision allocates
    // little.
    std::vector<policy::Job> described_;
    std::vector<policy::SimFacts> facts_;
    std::vector<Seats> seats_;
};

// Chooses the GPU type of each job. Pending jobs go where their value is highest. A running job
// moves if that is worth its restart (SimOptions::moves_gpu_types). Moves jobs one by one as long
// as the decisions of the two pools gain value in sum.
void choose_gpu_types(std::vector<std::unique_ptr<Pool>> &pools, const PolicySpec &policy,
                      double now);

}  // namespace ringrt::sim
