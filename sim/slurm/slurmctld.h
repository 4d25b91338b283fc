// SPDX-License-Identifier: BSD-3-Clause
// What slurmctld does to a job's record, and the order in which it starts jobs, in virtual time.
//
// Two clusters use it. SimCluster (ringsim) skips ticks without events and runs whole workloads.
// FakeCluster (the controller's tests) visits every tick, keeps the state that slurmctld saved in
// the last seconds, and injects failures: refusals, lost answers, a kill of slurmctld.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/policy/baselines/baselines.h"

namespace ringrt::sim {

inline constexpr double kTick_s = 0.25;
inline constexpr double kCompleting_s = 0.5;  // from the end of a run until its GPUs are free

using Place = std::vector<std::pair<int, int>>;  // (index of a node, GPUs)

// The first nodes with room for equal shares of the job, or any_shares; `free`: GPUs per node.
[[nodiscard]] std::optional<Place> find_place(const controller::JobRecord &job,
                                              const std::vector<int> &free);

// pending -> running -> completing -> pending, with one more restart, or finished.
void start_run(controller::JobRecord &job, Place place, double now_s);
void stop_run(controller::JobRecord &job, double now_s);
void end_in_requeue(controller::JobRecord &job, double hold_s);  // start delay: hold_s
void end_for_good(controller::JobRecord &job, controller::End::How how);

// slurmctld's answer if nothing fails; `ok`: the request may be carried out.
[[nodiscard]] controller::RpcStatus answer_to_write(const controller::JobRecord &job);
[[nodiscard]] controller::RpcStatus answer_to_update(const controller::JobRecord &job);
[[nodiscard]] controller::RpcStatus answer_to_signal(const controller::JobRecord &job);
void set_admin_comment(controller::JobRecord &job, const std::string &text);
// Except for Slurm's own hold. `own_nice`: the job's nice value before anything was added.
void apply(controller::JobRecord &job, const controller::PendingUpdate &update, int64_t own_nice);
void apply(controller::JobRecord &job, const controller::Settings &settings);

// Jobs that may start now, in the order of their numbers.
struct Queue {
    std::vector<controller::JobRecord *> waiting;
    std::function<bool(controller::JobRecord &)> start;  // false: there is no room
    std::function<policy::Reservation(int gpus)> reserve;

    // Starts jobs by nice value and priority. The first that cannot start gets a reservation from
    // the time limits of the running jobs, if these show when room is free; others start in the
    // meantime (EASY, as `fifo`). True if the pending reason of a job changed.
    bool start_all();
};

// When jobs that hold GPUs end.
class Ends {
  public:
    explicit Ends(double now_s) : now_s_(now_s) {}
    void add(const controller::JobRecord &job);
    [[nodiscard]] policy::Reservation reserve(int free, int gpus) &&;

  private:
    double now_s_;
    std::vector<std::pair<double, int>> ends_;
};

}  // namespace ringrt::sim
