// SPDX-License-Identifier: BSD-3-Clause
// The small window through which the controller sees and touches a cluster.
//
// Implemented by SlurmCluster (the public Slurm API), by ringsim (virtual time) and by the tests'
// fake. A call may fail at any time; none throws. Every answer but `ok` means: nothing was done, or
// it is unknown whether it was, and the next observation tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ringrt::controller {

enum class RpcStatus : uint8_t {
    ok,
    busy,         // "can not be altered now": an ordinary answer, ask again later
    not_found,    // no such job any more
    refused,      // limits, permissions, a state that does not allow it
    unreachable,  // slurmctld did not answer in time
};

enum class JobPhase : uint8_t { pending, running, suspended, completing, finished };

// Why Slurm keeps a pending job waiting, as far as the controller cares.
// limit: at one that is free again when a job of its user leaves.
enum class PendingReason : uint8_t {
    none,
    begin_time,
    resources,
    priority,
    held,
    dependency,
    limit,
    other,
};

// A hold that nobody asked for: Slurm itself holds the job, and only SlurmUser may release it.
enum class SlurmHold : uint8_t {
    none,
    launch_failed,    // a launch of it failed, and it was requeued
    bad_constraints,  // no node can ever satisfy what it asks for: often a size that we have set
};

struct JobRecord {
    uint32_t id = 0;
    JobPhase phase = JobPhase::pending;
    PendingReason pending_reason = PendingReason::none;
    bool batch = true;
    std::string name;  // hostile: bounded to 64 bytes
    std::string partition;
    uint32_t user_id = 0;
    double submit_s = 0;     // Unix times; 0: not set or not known
    double start_s = 0;      // of the present run; 0 while it waits
    double suspended_s = 0;  // of the present run, before it was last resumed
    double end_s = 0;        // end of the last run: for a requeued job the time of its requeue
    double begin_s = 0;      // earliest start
    double priority = 0;     // without what a resize has added to it; 0: held
    int64_t nice = 0;        // as it is now, with what is lent
    SlurmHold slurm_hold = SlurmHold::none;
    int restarts = 0;        // Slurm's restart_cnt (counts more than our resizes)
    int gpus_requested = 0;  // of the whole job
    int nodes_requested = 1;
    int cpus_per_task = 1;
    int64_t time_limit_s = -1;  // -1: unlimited
    bool completed = false;     // of a finished job: with exit code 0, in its own time
    bool cancelled = false;     // of a finished job: by its user or an administrator
    bool failed = false;        // of a finished job: by its own end, no time limit, no node
    int exit_code = 0;          // of a finished job
    int end_signal = 0;         // of a finished job: the signal that ended it, 0: none
    std::vector<std::pair<int, int>> gpus_on_node;  // (index into nodes, GPUs) while it holds any
    std::string admin_comment;  // intent is parsed from here: bounded to 4096 bytes
    std::string comment;        // telemetry is parsed from here: bounded to 4096 bytes, hostile
    double told_s = 0;          // when this was told, by slurmctld's own clock, in whole seconds

    bool operator==(const JobRecord &) const = default;
};

struct NodeRecord {
    std::string name;
    int gpus = 0;
    int cpus = 0;                         // 0: not known
    bool usable = true;                   // up, not drained, not reserved for somebody else
    std::vector<std::string> partitions;  // that start jobs on it; empty: every one does

    bool operator==(const NodeRecord &) const = default;
};

struct Observation {
    uint64_t version = 0;         // another one whenever jobs or nodes are; 0: nobody knows
    double now_s = 0;             // Unix time
    std::vector<JobRecord> jobs;  // malleable and rigid ones; finished ones may be left out
    std::vector<NodeRecord> nodes;
};

// Applied to a pending job in one request, so that all of it happens or none.
struct PendingUpdate {
    int gpus = 0;  // tasks = GPUs; 0: leave the size
    int nodes = 0;
    int cpus = 0;
    int64_t time_limit_s = 0;      // 0: leave; -1: unlimited
    double begin_s = 0;            // earliest start; 0: leave
    bool first_in_queue = false;   // ahead of the others for the gap between stop and restart;
                                   // must not undo a user's hold (lower the nice value instead)
    bool undo_slurm_hold = false;  // only of a record with a SlurmHold
    std::optional<int64_t> nice;   // none: leave
    std::string admin_comment;     // empty: leave
};

class Cluster {
  public:
    virtual ~Cluster() = default;
    // Overwrites `out`; may leave it as it is where out.version is that of the present state.
    virtual RpcStatus observe(Observation &out) = 0;
    // With `nice`, in the same request, the job's nice value.
    virtual RpcStatus write_intent(uint32_t job_id, const std::string &admin_comment,
                                   std::optional<int64_t> nice) = 0;
    virtual RpcStatus update_pending(uint32_t job_id, const PendingUpdate &update) = 0;
    // To every process of the job's steps, not to the batch script. A job that has no step yet:
    // again.
    virtual RpcStatus signal_steps(uint32_t job_id, int signal) = 0;
    // An observation may be seconds old. ok: the job still runs as it was observed, in the same
    // run. again: it does not, and the next observation tells what it does.
    virtual RpcStatus still_runs(uint32_t) { return RpcStatus::ok; }
    // slurmctld may be killed after a job has left and before it has saved that: it then believes
    // for many minutes that the job runs. Where the job's node says that nothing of it is there,
    // the job is requeued, and the answer is ok. Any other answer: it lives, or nobody knows;
    // nothing was done.
    virtual RpcStatus requeue_if_gone(uint32_t) { return RpcStatus::refused; }
    // The same for a job of which it is known that it ended with exit code 0: it is COMPLETED then.
    virtual RpcStatus complete_if_gone(uint32_t) { return RpcStatus::refused; }
    // A job that has failed waits again.
    virtual RpcStatus requeue_failed(uint32_t) { return RpcStatus::refused; }
};

}  // namespace ringrt::controller
