// SPDX-License-Identifier: BSD-3-Clause
// The nodes of one kind of GPU, the jobs that are on them or wait for them, and a policy that
// decides among these. A cluster of one kind is one pool.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "sim/engine/engine.h"

namespace ringrt::sim {

class Pool {
  public:
    // `jobs` as they are on this kind. The nodes are numbered from `first_node` in the timeline.
    Pool(const std::vector<JobSpec> &jobs, const PolicySpec &policy, const SimOptions &options,
         int first_node, RunResult &result);
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    [[nodiscard]] std::size_t size() const { return active_.size(); }
    [[nodiscard]] const JobState &job(std::size_t i) const { return active_[i]; }
    [[nodiscard]] Estimator &estimator() { return *estimator_; }
    [[nodiscard]] const policy::Capacity &capacity() const { return capacity_; }
    [[nodiscard]] const SimOptions &options() const { return options_; }

    // Seconds from now until the first of its jobs is done if nothing changes.
    [[nodiscard]] double first_finish() const;
    void advance(double now, double seconds, double share);
    void retire(std::atomic<uint64_t> *done);
    void admit(std::size_t index);
    void decide(double now);
    void end(double now);  // of the run: what is still here is recorded

    // A job as the policy sees it here, wherever it is now.
    void describe(const JobState &job, double now, policy::Job &out, policy::SimFacts &facts);
    // Out of one pool, and into another at the end of the pass: it holds nothing then.
    [[nodiscard]] JobState give_up(std::size_t index, double now);
    void take_in(JobState job);
    void weigh(std::size_t index, double weight);  // of a second of the job, here

  private:
    [[nodiscard]] double finish_estimate(const JobState &job) const;
    void advance(JobState &job, double begin, double seconds);
    void enter_epoch(JobState &job);
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
    // As the policy saw them. These and the seats are kept for their memory: a decision allocates
    // little.
    std::vector<policy::Job> described_;
    std::vector<policy::SimFacts> facts_;
    std::vector<Seats> seats_;
};

// Which kind of GPU each job should be on: jobs that wait go where they are worth the most, and a
// job that runs goes elsewhere where that is worth its restart (SimOptions::moves_kinds). Moves
// jobs one by one as long as the decisions of the two pools are together worth more.
void choose_kinds(std::vector<std::unique_ptr<Pool>> &pools, const PolicySpec &policy, double now);

}  // namespace ringrt::sim
