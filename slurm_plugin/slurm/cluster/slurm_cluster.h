// SPDX-License-Identifier: GPL-2.0-or-later
// The controller's Cluster, by Slurm's public API.
//
// It works inside slurmctld (which provides Slurm's functions itself) and in a program that links
// libslurm. Every call is an RPC: about a millisecond on a small cluster, tens of milliseconds with
// thousands of jobs, seconds if slurmctld does not answer. So use one thread, and never hold a lock
// of Slurm.
#pragma once

#include <slurm/slurm.h>

#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/slurm/base/loaded_job.h"
#include "slurm_plugin/slurm/cluster/api_times.h"
#include "slurm_plugin/slurm/cluster/job_arrays.h"
#include "slurm_plugin/slurm/cluster/listed_amounts.h"
#include "slurm_plugin/slurm/cluster/reservations.h"
#include "slurm_plugin/slurm/cluster/shared_limits.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {

// The most that one job can have in a partition.
struct PartitionLimits {
    int gpus_in_all = 0;    // of the partition's nodes, at most the MaxNodes largest
    int gpus_per_node = 0;  // of its largest node
    int nodes = 0;          // with GPUs
    bool is_default = false;
    bool whole_nodes = false;  // it allocates nothing less
    int cpus_per_gpu = 0;      // DefCpuPerGPU; 0: none
    std::string qos;           // its limits also hold for the partition's jobs

    bool operator==(const PartitionLimits &) const = default;
};

class SlurmCluster final : public controller::Cluster {
  public:
    // Queries only what changed since the last call: if nothing did, Slurm answers in a few bytes.
    // With a full queue, jobs with a resize under way are updated at once, others seconds later.
    controller::RpcStatus observe(controller::Observation &out) override;
    controller::RpcStatus write_intent(uint32_t job_id, const std::string &admin_comment,
                                       const controller::Settings &settings) override;
    controller::RpcStatus update_pending(uint32_t job_id,
                                         const controller::PendingUpdate &update) override;
    controller::RpcStatus signal_steps(uint32_t job_id, int signal) override;
    controller::RpcStatus confirm_run(uint32_t job_id) override;
    // Queries the slurmd of the job's batch script, so it can take Slurm's MessageTimeout.
    controller::Liveness probe_run(uint32_t job_id) override;
    controller::RpcStatus requeue_running(uint32_t job_id) override;
    controller::RpcStatus requeue_ended(uint32_t job_id) override;
    controller::RpcStatus complete(uint32_t job_id) override;
    controller::RpcStatus cancel(uint32_t job_id) override;
    // By an in-place "resize" to the nodes that it already has. From 24.11 on; in older versions,
    // slurmdbd would then lose the job's next run.
    controller::RpcStatus bill_anew(uint32_t job_id) override;

    // By an update of the node list, which takes Slurm 10 ms. From 24.11 on, with slurmdbd, and
    // without WaitTime, because the ranks on nodes that leave end before the others. On
    // 22.05 without it, a job whose nodes have changed refuses every later update until it is
    // requeued, and with it slurmdbd loses the job's next run.
    [[nodiscard]] bool can_keep_nodes() override;
    controller::RpcStatus keep_nodes(uint32_t job_id, const std::vector<int> &nodes) override;

    controller::RpcStatus extend(uint32_t base_id, const controller::PendingUpdate::Size &size,
                                 const records::Extension &extension,
                                 const controller::ExtensionPlace &place) override;

    // As of the last observation.
    [[nodiscard]] const controller::Observation &seen() const { return seen_; }
    [[nodiscard]] const std::map<std::string, PartitionLimits, std::less<>> &partitions() const {
        return partitions_;
    }
    // Why the last call did not return `ok`, in Slurm's words.
    [[nodiscard]] const std::string &last_error() const { return last_error_; }
    [[nodiscard]] const ApiTimes &api_times() const { return api_; }

  private:
    // The fields that a job's update needs and the controller does not have.
    struct Details {
        std::string tres_per_job;  // keeps the GPU type that the user requested
        std::string tres_per_node;
        std::string name;        // in requests: its number, or "100_3" of an array's task
        std::string batch_host;  // empty unless it runs
        std::optional<uint32_t> user_id;
        time_t start = 0;
        int restarts = 0;
        uint32_t nice = NICE_OFFSET;
        bool has_lent_nice = false;  // lowered for a restart
        uint16_t mail_type = 0;
        uint32_t priority = 0;
        uint32_t cpus_per_task = 1;
    };
    template <auto Free>
    struct Freed {
        template <typename T>
        void operator()(T *message) const {
            Free(message);
        }
    };

    using Clock = std::chrono::steady_clock;

    template <typename Work>
    int timed(Call call, Work work) {
        return api_.time(call, std::move(work));
    }
    using JobMessage = std::unique_ptr<job_info_msg_t, Freed<free_jobs>>;
    controller::RpcStatus load_job(uint32_t job_id, LoadedJob &out);  // ok: the job exists
    controller::RpcStatus load_jobs();
    controller::RpcStatus load_hot();
    [[nodiscard]] bool is_time_for_all() const;
    void mark_hot(uint32_t job_id);
    [[nodiscard]] std::string name_of(uint32_t job_id) const;  // in requests
    controller::RpcStatus send(uint32_t job_id, job_desc_msg_t &change);
    // Like send(), for a change of the nice value. A held job stays held. With `refuse`, the answer
    // for a held job is busy, and nothing is changed.
    enum class IfHeld : uint8_t { keep, refuse };
    controller::RpcStatus send_with_nice(uint32_t job_id, job_desc_msg_t &change, IfHeld if_held);
    controller::RpcStatus send_to_held(uint32_t job_id, const slurm_job_info_t &job,
                                       job_desc_msg_t &change);
    controller::RpcStatus set_size(uint32_t job_id, const Details &details,
                                   const controller::PendingUpdate::Size &size);
    controller::JobRecord convert(const slurm_job_info_t &job, time_t told);
    void note_default_cpus(controller::JobRecord &record);
    struct SiteConf {
        // Time from a job's start until its batch script can be queried on its node. A prolog may
        // take long, so this is the time after which Slurm itself treats a script as missing.
        time_t launch_s = 0;
        bool has_slurmdbd = false;
        int cpus_per_gpu = 0;             // DefCpuPerGPU; 0: none
        bool nice_sets_priority = false;  // immediately: priority/basic
        bool enforces_limits = false, limits_are_safe = false;
        bool ends_steps = false;      // WaitTime: some time after a step's first task has ended
        bool has_client_ids = false;  // a job carries the identity of its submitter
    };
    [[nodiscard]] std::optional<SiteConf> site_conf();  // none: slurmctld does not answer
    [[nodiscard]] bool would_wait(job_desc_msg_t &job);
    template <typename Work>
    controller::RpcStatus change(uint32_t job_id, Call call, std::string_view what, Work work) {
        mark_hot(job_id);
        return status_of(timed(call, std::move(work)), what);
    }
    // Of a job that still runs in the observed run. Empty: to the nodes that it has.
    controller::RpcStatus set_running_nodes(uint32_t job_id, std::string nodes);
    controller::RpcStatus load_nodes();
    controller::RpcStatus load_partitions();
    void convert_jobs();
    [[nodiscard]] int gpus_per_node(std::string_view partitions) const;
    [[nodiscard]] bool may_need_gpu_node(const slurm_job_info_t &job) const;
    bool note_limits();  // whether a job's record changed
    void convert_nodes();
    void convert_nodes_afresh();
    controller::RpcStatus status_of(int return_code, std::string_view what);

    JobMessage jobs_;
    std::unique_ptr<node_info_msg_t, Freed<slurm_free_node_info_msg>> nodes_;
    std::unique_ptr<partition_info_msg_t, Freed<slurm_free_partition_info_msg>> parts_;
    Reservations reservations_;
    SharedLimits limits_;
    ListedAmounts listed_;
    controller::Observation seen_;
    std::map<uint32_t, Details> malleable_;
    JobArrays arrays_;  // as of the last full listing
    std::map<std::string, PartitionLimits, std::less<>> partitions_;
    time_t partitions_asked_ = 0;
    std::string last_error_;
    ApiTimes api_;
    bool wants_all_ = false;        // a job was submitted since then
    Clock::time_point last_full_;   // end of the last full listing
    std::vector<std::size_t> hot_;  // into seen_.jobs: polled singly, a resize is under way
    std::optional<SiteConf> conf_;
    Clock::time_point conf_asked_;
    Clock::time_point will_run_from_;  // no query before this time
};

}  // namespace ringrt::slurm
