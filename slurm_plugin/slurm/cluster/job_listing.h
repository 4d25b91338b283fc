// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's jobs as squeue lists them, for tools, through the public API. This header exposes no
// Slurm type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::slurm {

struct ListedJob {
    uint32_t id = 0, user_id = 0;
    std::string task;  // of an array, in squeue's format: "100_3", "100_[4-9%2]"; else empty
    std::string name, user, partition, nodes;
    std::string state, state_short;  // "RUNNING", "R"
    std::string reason;              // why it is pending: "Resources", "None"
    bool pending = false, completing = false, ended = false;
    int gpus = 0;  // GPUs held; 0 while pending
    int restarts = 0;
    double submit_s = 0, start_s = 0, end_s = 0;  // Unix times; 0: not set
    std::string admin_comment, comment;           // bounded; `comment` is untrusted input
};

struct Listing {
    std::vector<ListedJob> jobs;
    std::string error;  // empty, or one line: why there are no jobs
};

// All jobs that slurmctld knows, including finished ones. Blocks until slurmctld answers or Slurm's
// timeout (MessageTimeout) expires.
[[nodiscard]] Listing list_jobs();

// The GPUs of all nodes. away: those of nodes that are down or drained.
struct ClusterGpus {
    int total = 0, away = 0;
};
[[nodiscard]] std::optional<ClusterGpus> count_cluster_gpus();

[[nodiscard]] std::vector<std::string> list_partitions();   // empty: slurmctld does not answer
[[nodiscard]] std::vector<std::string_view> state_names();  // of jobs: "PENDING", "PD", …
[[nodiscard]] bool is_user(const std::string &name);        // a name or a numeric ID

}  // namespace ringrt::slurm
