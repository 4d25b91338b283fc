// SPDX-License-Identifier: BSD-3-Clause
// The interface through which the controller sees and changes a cluster.
//
// Implemented by SlurmCluster (the public Slurm API), by ringsim (virtual time) and by the tests'
// fake. A call may fail at any time; none throws. After any answer but `ok`, nothing was done or
// the result is unknown, and the next observation shows which.
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
    busy,         // "can not be altered now": an ordinary answer, retry later
    not_found,    // no such job any more
    refused,      // limits, permissions, a state that does not allow it
    later,        // of extend(): Slurm reports that it would not start now
    unreachable,  // slurmctld did not answer in time
};

enum class JobPhase : uint8_t { pending, running, suspended, completing, finished };

// Why Slurm keeps a job pending, as far as the controller needs it. limit: a limit that has room
// again when a job of its user leaves. dependency: on other jobs, or on other tasks of its array
// when the array already runs its maximum (--array=0-9%2). staging: its data is copied to a burst
// buffer.
enum class PendingReason : uint8_t {
    none,
    begin_time,
    resources,
    priority,
    held,
    dependency,
    limit,
    staging,
    other,
};

// A hold that Slurm itself set. Only SlurmUser may release it.
enum class SlurmHold : uint8_t {
    none,
    launch_failed,    // a launch failed, and the job was requeued
    bad_constraints,  // no node can ever satisfy the request: often a size that the controller set
};

// The limit at which a job is pending: the scarce resource, and which jobs share it.
struct SharedLimit {
    enum class What : uint8_t { other, gpus, cpus, nodes, memory };  // memory in MB
    What what = What::other;
    bool of_account = false, of_qos = false, of_user = false;  // shared by these
    bool of_licences = false;                                  // those that it requests are in use
    bool of_time = false;                                      // for which jobs may run in total
    // The owner of the limit: an account above the job's, or its partition's QOS. Empty: the job's
    // own account or QOS.
    std::string whose;
    int short_by = 0;  // by how much the request exceeds what is left; 0: not known

    bool operator==(const SharedLimit &) const = default;
};

// How a job ended, as Slurm records it.
struct End {
    enum class How : uint8_t {
        completed,  // with exit code 0, before any limit
        cancelled,  // by its user or an administrator
        failed,     // its own failure
        by_slurm,   // time limit reached, or a node was lost
    };
    How how = How::by_slurm;
    int exit_code = 0;
    int signal = 0;  // the signal that ended it; 0: none

    bool operator==(const End &) const = default;
};

// Whether processes of a job's run exist.
enum class Liveness : uint8_t {
    alive,      // its node has a record of it, or Slurm no longer shows that run
    gone,       // Slurm shows it as running, but its node has no record of it
    too_early,  // it started so recently that its node may have no record yet
    unknown,    // its node or slurmctld does not answer
};

// As in sbatch's --mem, --mem-per-cpu or --mem-per-gpu.
struct MemoryRequest {
    enum class Per : uint8_t { node, cpu, gpu };
    Per per = Per::node;
    uint64_t mb = 0;  // for each; 0: not known, or all of a node

    // Of a whole job with these GPUs, CPUs and nodes.
    [[nodiscard]] uint64_t total_mb(int64_t gpus, int64_t cpus, int64_t nodes) const {
        constexpr uint64_t kMbMost = 1 << 30;  // a job has no 2^32 GPUs: the product fits
        const int64_t times = per == Per::gpu ? gpus : per == Per::cpu ? cpus : nodes;
        return std::min(mb, kMbMost) * static_cast<uint64_t>(std::max<int64_t>(0, times));
    }
    bool operator==(const MemoryRequest &) const = default;
};

// Of a GPU that jobs share: "shard" or "mps", and how many.
struct GpuShare {
    std::string kind;
    int amount = 0;

    bool operator==(const GpuShare &) const = default;
};

struct HeldShare {
    int node = 0;  // index into nodes
    int gpu = 0;   // Slurm's index on the node; -1: not known
    int amount = 0;

    bool operator==(const HeldShare &) const = default;
};

struct JobRecord {
    uint32_t id = 0;
    std::string array_task;  // "100_3" for an array task, as Slurm's commands name it; else empty
    // Its array runs the maximum of tasks and others are pending: a requeue loses the slot.
    bool array_at_limit = false;
    int tasks_waiting = 1;  // array tasks that this record represents and that may start
    JobPhase phase = JobPhase::pending;
    PendingReason pending_reason = PendingReason::none;
    std::string name;  // untrusted: bounded to 64 bytes
    std::string partition;
    uint32_t user_id = 0;
    double submit_s = 0;              // Unix times; 0: not set or not known
    double start_s = 0;               // of the present run; 0 while pending
    double suspended_s = 0;           // of the present run, before it was last resumed
    double end_s = 0;                 // end of the last run; of a requeued job: time of its requeue
    double begin_s = 0;               // earliest start
    double priority = 0;              // without what a resize added; 0: held
    int64_t nice = 0;                 // current value, with the lent part
    records::RunMails run_mails = 0;  // mails that its user gets now
    SlurmHold slurm_hold = SlurmHold::none;
    SharedLimit at_limit;      // while pending_reason is limit
    int restarts = 0;          // Slurm's restart_cnt (also counts requeues other than resizes)
    int gpus_requested = 0;    // of the whole job
    int nodes_requested = 1;   // at least
    int nodes_most = 0;        // if any_shares; 0: as many as it needs
    bool any_shares = false;   // its nodes may have different numbers of GPUs (--gpus alone)
    bool whole_nodes = false;  // --exclusive; gpus_requested then counts all GPUs of its nodes
    int cpus_per_task = 1;
    int cpus_requested = 0;  // of the whole job; of a running one: allocated
    MemoryRequest memory;
    double billing = 0;  // of malleable jobs: billable TRES of the present run; 0: not known
    // GPUs that the limits of its account, user and QOS allow it, with those that it holds; of
    // malleable jobs. None: not limited, or not known. Need not be a size of the job.
    std::optional<int> gpus_allowed;
    std::vector<std::string> licences;        // their names; of the same jobs as account and QOS
    std::string account, qos;                 // of malleable jobs, and of jobs pending at a limit
    std::string partition_qos;                // of malleable jobs, and of jobs pending at a limit
    std::vector<std::string> accounts_above;  // above its own, nearest first; of malleable jobs
    std::string gpu_type;                     // requested; empty: any, or several at once
    // Several at once, each with the GPUs of the whole job. Slurm gives such a job only nodes that
    // have all of them.
    std::vector<std::pair<std::string, int>> gpus_of_types;
    std::string features;                 // requested of nodes, in Slurm's syntax
    std::vector<int> required_nodes;      // of a rigid job, indices into nodes; empty: any
    std::vector<int> excluded_nodes;      // indices into nodes; without the lent ones
    std::vector<int> lent_exclusions;     // lent excluded nodes (lent_exclusions.h)
    bool has_node_list = false;           // it requests specific nodes
    bool has_reservation = false;         // it runs in a reservation of Slurm, which may end
    uint64_t constraints = 0;             // checksum of account, QOS, features, nodes, reservation
    std::optional<int64_t> time_limit_s;  // none: unlimited
    std::optional<End> end;               // of a finished job
    // It is pending and still has the nodes of its last run: each step of the next run would be
    // refused (22.05 without accounting).
    bool has_stale_nodes = false;
    std::vector<std::pair<int, int>> gpus_on_node;  // (index into nodes, GPUs) while it holds any
    // What it requests of one GPU on each node; gpus_requested then counts these GPUs while it is
    // pending. And what it holds (gpu_shares.h).
    GpuShare gpu_share;
    std::vector<HeldShare> shares_held;
    std::string admin_comment;  // bounded to 4096 bytes
    // Parsed by the Cluster from the AdminComment and the Comment, which is untrusted.
    std::optional<records::Intent> intent;  // none: it is rigid
    std::optional<records::Telemetry> telemetry;
    std::optional<records::Extension> extension;  // set: it extends another job (doc/live.md)
    double slurmctld_s = 0;  // when slurmctld sent this record, by its clock, in whole seconds

    bool operator==(const JobRecord &) const = default;
};

struct NodeRecord {
    std::string name;
    int gpus = 0;
    // CPUs and MB of memory that jobs can use; 0: not known. Memory is free if the site does not
    // allocate it.
    int cpus = 0, cpus_free = 0;
    int64_t mb = 0, mb_free = 0;
    int threads = 1;     // of a core
    bool usable = true;  // up, not drained, not reserved for others
    // Not usable, but Slurm starts jobs on it: it is powered down or boots, and the job waits.
    bool asleep = false;
    // Slurm starts no job on it: another one is COMPLETING there, and holds GPUs that Slurm no
    // longer lists if it was requeued (22.05 to 26.05).
    bool completing = false;
    double reserved_from_s = 0;  // Unix time of the next reservation; 0: none is known
    // Only jobs of this user start on it while one runs there (ExclusiveUser); none: anybody's.
    std::optional<uint32_t> owner;
    std::vector<std::string> partitions;  // that start jobs on it; empty: all
    std::vector<std::string> gpu_types;   // empty: not known
    std::vector<GpuShare> gpu_shares;     // what each of its GPUs can be shared as
    std::vector<std::string> features;
    // A node with several GPU types has a record for each, with the GPUs of that type
    // (node_parts.h). The first is at the node's place and lists the others, which come after all
    // nodes.
    std::vector<int> parts;
    int part_of = -1;  // of such another one: the index of the first

    bool operator==(const NodeRecord &) const = default;
};

struct Observation {
    uint64_t version = 0;  // changes whenever jobs or nodes change; 0: not known
    double now_s = 0;      // Unix time
    // Malleable and rigid. May omit finished jobs, and rigid jobs that hold no GPUs and are neither
    // pending at a limit nor for a node with GPUs.
    std::vector<JobRecord> jobs;
    std::vector<NodeRecord> nodes;
};

// Applied to a pending job: first the size in its owner's name, then the rest in one request.
struct PendingUpdate {
    struct Size {
        int gpus = 0;
        int nodes = 1;  // each gets the same number of the GPUs
        int cpus = 0;
        int tasks = 0;  // 0: one per GPU
    };
    // Absent fields stay unchanged.
    std::optional<Size> size;
    std::optional<int64_t> time_limit_s;
    std::optional<double> begin_s;  // earliest start
    bool first_in_queue = false;   // ahead of others for the gap between stop and restart; must not
                                   // undo a user's hold (lower the nice value instead)
    bool undo_slurm_hold = false;  // only for a record with a SlurmHold
    // Its excluded nodes, as indices into the last observation; empty: clear the list
    // (lent_exclusions.h).
    std::optional<std::vector<int>> excluded_nodes;
    std::optional<int64_t> nice;
    std::optional<records::RunMails> run_mails;
    std::string admin_comment;
};

// Set with an intent: the mails in the same request, the nice value before it. Absent fields stay
// unchanged.
struct Settings {
    std::optional<int64_t> nice;
    std::optional<records::RunMails> run_mails;
    bool no_excluded_nodes = false;  // only for a pending job
};

// Where the site wants extensions to run. Empty: as the base.
struct ExtensionPlace {
    std::string partition, qos;
};

// Each method does one thing. observe(), confirm_run() and probe_run() change nothing.
class Cluster {
  public:
    virtual ~Cluster() = default;
    // Overwrites `out`. May leave it unchanged if out.version is that of the present state.
    virtual RpcStatus observe(Observation &out) = 0;
    virtual RpcStatus write_intent(uint32_t job_id, const std::string &admin_comment,
                                   const Settings &settings) = 0;
    virtual RpcStatus update_pending(uint32_t job_id, const PendingUpdate &update) = 0;
    // Signals every process of the job's steps, not the batch script. busy: no step exists yet.
    virtual RpcStatus signal_steps(uint32_t job_id, int signal) = 0;
    // Checks an observation, which may be seconds old. ok: the job still runs, in the observed run.
    // busy: it does not, and the next observation shows its state.
    virtual RpcStatus confirm_run(uint32_t job_id) = 0;
    // Asks the job's node; may block for a full timeout.
    virtual Liveness probe_run(uint32_t job_id) = 0;
    virtual RpcStatus requeue_running(uint32_t job_id) = 0;  // refused if it does not run
    virtual RpcStatus requeue_ended(uint32_t job_id) = 0;    // makes an ended job pending again
    virtual RpcStatus complete(uint32_t job_id) = 0;         // ends a running job with exit code 0
    virtual RpcStatus cancel(uint32_t job_id) = 0;
    // Bills a running job by its present size from now on, not by that of an earlier run.
    virtual RpcStatus bill_anew(uint32_t job_id) = 0;
    // Whether keep_nodes() can be used here.
    [[nodiscard]] virtual bool can_keep_nodes() { return false; }
    // A running job keeps only these nodes, as indices into the last observation. Slurm kills the
    // tasks on its others. refused: this cannot be done. busy: it does not run, or not in the
    // observed run.
    virtual RpcStatus keep_nodes(uint32_t job_id, const std::vector<int> &nodes) {
        (void)job_id, (void)nodes;
        return RpcStatus::refused;
    }
    // Submits an extension of a running job in its owner's name. refused: this cannot be done.
    // later: Slurm reports that it would be pending, and nothing was submitted.
    virtual RpcStatus extend(uint32_t base_id, const PendingUpdate::Size &size,
                             const records::Extension &extension, const ExtensionPlace &place) {
        (void)base_id, (void)size, (void)extension, (void)place;
        return RpcStatus::refused;
    }
};

}  // namespace ringrt::controller
