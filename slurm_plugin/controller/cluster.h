// SPDX-License-Identifier: BSD-3-Clause
// The small window through which the controller sees and touches a cluster.
//
// Implemented by SlurmCluster (the public Slurm API), by ringsim (virtual time) and by the tests'
// fake. A call may fail at any time; none throws. Every answer but `ok` means: nothing was done, or
// it is unknown whether it was, and the next observation tells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slurm_plugin/records/extension.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::controller {

enum class RpcStatus : uint8_t {
    ok,
    busy,         // "can not be altered now": an ordinary answer, ask again later
    not_found,    // no such job any more
    refused,      // limits, permissions, a state that does not allow it
    later,        // of extend(): by Slurm's own word it would not start now
    unreachable,  // slurmctld did not answer in time
};

enum class JobPhase : uint8_t { pending, running, suspended, completing, finished };

// Why Slurm keeps a pending job waiting, as far as the controller cares.
// limit: at one that is free again when a job of its user leaves. dependency: on other jobs, or on
// other tasks of its array, which has as many at once as it may (--array=0-9%2).
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

// The limit at which a job waits: what is scarce, and for whom it holds together.
struct SharedLimit {
    enum class What : uint8_t { other, gpus, cpus, nodes, memory };  // memory in MB
    What what = What::other;
    bool of_account = false, of_qos = false, of_user = false;  // those that are the same
    // Whose it is: an account above the job's, or its partition's QOS. Empty: its own account's or
    // QOS.
    std::string whose;
    int short_by = 0;  // so much more of it is wanted than is left; 0: not known

    bool operator==(const SharedLimit &) const = default;
};

// How a job ended, as Slurm says.
struct End {
    enum class How : uint8_t {
        completed,  // with exit code 0, in its own time
        cancelled,  // by its user or an administrator
        failed,     // by its own failure
        by_slurm,   // its time was up, or a node was lost
    };
    How how = How::by_slurm;
    int exit_code = 0;
    int signal = 0;  // that ended it; 0: none

    bool operator==(const End &) const = default;
};

// Do processes of a job's run exist?
enum class Liveness : uint8_t {
    alive,      // its node knows of it; or Slurm does not show that run any more
    gone,       // Slurm shows it as running, and its node knows nothing of it
    too_early,  // it started so recently that its node may not know of it yet
    unknown,    // its node, or slurmctld, does not answer
};

// As sbatch's --mem, --mem-per-cpu or --mem-per-gpu has it.
struct MemoryRequest {
    enum class Per : uint8_t { node, cpu, gpu };
    Per per = Per::node;
    uint64_t mb = 0;  // of each; 0: not known, or all that a node has

    // The memory of a whole job with so many GPUs, CPUs and nodes.
    [[nodiscard]] uint64_t total_mb(int64_t gpus, int64_t cpus, int64_t nodes) const {
        constexpr uint64_t kMbMost = 1 << 30;  // a job has no 2^32 GPUs: the product fits
        const int64_t times = per == Per::gpu ? gpus : per == Per::cpu ? cpus : nodes;
        return std::min(mb, kMbMost) * static_cast<uint64_t>(std::max<int64_t>(0, times));
    }
    bool operator==(const MemoryRequest &) const = default;
};

struct JobRecord {
    uint32_t id = 0;
    std::string array_task;  // "100_3" of an array's task, as Slurm's commands name it; else empty
    // As many tasks of its array run as may, and others wait: one that leaves loses its place.
    bool array_is_full = false;
    int tasks_waiting = 1;  // of its array, that this record stands for and that may start
    JobPhase phase = JobPhase::pending;
    PendingReason pending_reason = PendingReason::none;
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
    records::RunMails run_mails = 0;  // that its user gets now
    SlurmHold slurm_hold = SlurmHold::none;
    SharedLimit at_limit;     // while pending_reason is limit
    int restarts = 0;         // Slurm's restart_cnt (counts more than our resizes)
    int gpus_requested = 0;   // of the whole job
    int nodes_requested = 1;  // at least
    int nodes_most = 0;       // where it takes any_shares; 0: as many as it needs
    bool any_shares = false;  // its nodes may have different numbers of GPUs (--gpus alone)
    int cpus_per_task = 1;
    int cpus_requested = 0;  // of the whole job
    MemoryRequest memory;    // of malleable jobs, and of those that wait at a limit
    double billing = 0;      // of malleable jobs: billable TRES of the present run; 0: not known
    // That the limits of its account, user and QOS leave it, those that it has now included; of
    // malleable jobs. None: not limited, or not known. It may be no size of the job.
    std::optional<int> gpus_allowed;
    std::string account, qos;   // of malleable jobs, and of those that wait at a limit
    std::string partition_qos;  // of malleable jobs, and of those that wait at a limit
    std::vector<std::string> accounts_above;  // its own; of malleable jobs; the nearest first
    std::string gpu_kind;                     // that it asked for; empty: any
    std::string features;                     // that it asks of nodes, as Slurm writes them
    std::vector<int> excluded_nodes;          // indices into nodes; without those that are lent
    std::vector<int> lent_exclusions;         // excluded nodes that are lent (kept_off.h)
    bool has_node_list = false;               // it names nodes that it must have
    uint64_t constraints = 0;             // a checksum: account, QOS, features, nodes, reservation
    std::optional<int64_t> time_limit_s;  // none: unlimited
    std::optional<End> end;               // of a finished job
    // It waits and still has the nodes of its last run: each step of the next one would be refused
    // (22.05 without accounting).
    bool has_stale_nodes = false;
    std::vector<std::pair<int, int>> gpus_on_node;  // (index into nodes, GPUs) while it holds any
    std::string admin_comment;                      // bounded to 4096 bytes
    // Read by the Cluster from the AdminComment and the Comment, which is hostile.
    std::optional<records::Intent> intent;  // none: it is rigid
    std::optional<records::Telemetry> telemetry;
    std::optional<records::Extension> extension;  // it is one, of another job (doc/live.md)
    double told_s = 0;  // when this was told, by slurmctld's own clock, in whole seconds

    bool operator==(const JobRecord &) const = default;
};

struct NodeRecord {
    std::string name;
    int gpus = 0;
    int cpus = 0;                         // 0: not known
    bool usable = true;                   // up, not drained, not reserved for somebody else
    double reserved_from_s = 0;           // Unix time of the next reservation; 0: none is known
    std::vector<std::string> partitions;  // that start jobs on it; empty: every one does
    std::vector<std::string> gpu_kinds;   // empty: not known
    std::vector<std::string> features;

    bool operator==(const NodeRecord &) const = default;
};

struct Observation {
    uint64_t version = 0;         // another one whenever jobs or nodes are; 0: nobody knows
    double now_s = 0;             // Unix time
    std::vector<JobRecord> jobs;  // malleable and rigid ones; finished ones may be left out, and
                                  // rigid ones without GPUs that wait at no limit
    std::vector<NodeRecord> nodes;
};

// Applied to a pending job: the size in its owner's name, and then all the rest in one request.
struct PendingUpdate {
    struct Size {
        int gpus = 0;
        int nodes = 0;
        int cpus = 0;
        int tasks = 0;            // 0: one per GPU
        bool same_nodes = false;  // each node gets as many GPUs as the others
    };
    // What is absent stays as it is.
    std::optional<Size> size;
    std::optional<int64_t> time_limit_s;
    std::optional<double> begin_s;  // earliest start
    bool first_in_queue = false;    // ahead of the others for the gap between stop and restart;
                                    // must not undo a user's hold (lower the nice value instead)
    bool undo_slurm_hold = false;   // only of a record with a SlurmHold
    // Its excluded nodes, indices into the last observation's; empty: none any more (kept_off.h).
    std::optional<std::vector<int>> excluded_nodes;
    std::optional<int64_t> nice;
    std::string admin_comment;
};

// Set with an intent: the mails in the same request, the nice value before it. What is absent stays
// as it is.
struct Settings {
    std::optional<int64_t> nice;
    std::optional<records::RunMails> run_mails;
    bool no_excluded_nodes = false;  // only of a pending job
};

// Each verb does one thing, and may fail at any time. observe(), confirm_run() and probe_run()
// change nothing.
// Where the site wants extensions to run; what is empty is as the base has it.
struct ExtensionPlace {
    std::string partition, qos;
};

class Cluster {
  public:
    virtual ~Cluster() = default;
    // Overwrites `out`; may leave it as it is where out.version is that of the present state.
    virtual RpcStatus observe(Observation &out) = 0;
    virtual RpcStatus write_intent(uint32_t job_id, const std::string &admin_comment,
                                   const Settings &settings) = 0;
    virtual RpcStatus update_pending(uint32_t job_id, const PendingUpdate &update) = 0;
    // To every process of the job's steps, not to the batch script. A job that has no step yet:
    // busy.
    virtual RpcStatus signal_steps(uint32_t job_id, int signal) = 0;
    // An observation may be seconds old. ok: the job still runs as it was observed, in the same
    // run. busy: it does not, and the next observation tells what it does.
    virtual RpcStatus confirm_run(uint32_t job_id) = 0;
    // Asks the job's node; may take as long as a time-out.
    virtual Liveness probe_run(uint32_t job_id) = 0;
    virtual RpcStatus requeue_running(uint32_t job_id) = 0;  // refused where it does not run
    virtual RpcStatus requeue_ended(uint32_t job_id) = 0;    // a job that has ended waits again
    virtual RpcStatus complete(uint32_t job_id) = 0;  // a running job has ended with exit code 0
    virtual RpcStatus cancel(uint32_t job_id) = 0;
    // A running job is billed by its present size from now on, and not by that of an earlier run.
    virtual RpcStatus bill_anew(uint32_t job_id) = 0;
    // Submits an extension of a running job in its owner's name. Where it cannot be done: refused;
    // where Slurm says that it would have to wait: later, and nothing is submitted.
    virtual RpcStatus extend(uint32_t base_id, const PendingUpdate::Size &size,
                             const records::Extension &extension, const ExtensionPlace &place) {
        (void)base_id, (void)size, (void)extension, (void)place;
        return RpcStatus::refused;
    }
};

}  // namespace ringrt::controller
