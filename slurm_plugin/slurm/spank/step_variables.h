// SPDX-License-Identifier: GPL-2.0-or-later
// The variables that training frameworks expect in a task's environment: those of PyTorch's
// rendezvous (RANK, WORLD_SIZE, MASTER_ADDR, ...) and of Lightning (PL_TRAINER_DEVICES, ...), and
// SLURM_NTASKS_PER_NODE, without which Lightning uses only one task. Independent of Slurm.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrt::slurm {

// The kind of the tasks in the job's steps: an entry of the job control environment. sbatch creates
// it and copies it to the job's environment (SPANK). There slurmctld fills it in (job_submit), and
// slurmstepd reads it (SPANK).
inline constexpr char kLayoutControl[] = "MALLEABLE_LAYOUT";
inline constexpr char kLayoutInJob[] = "SLURM_SPANK_MALLEABLE_LAYOUT";
inline constexpr char kTaskPerGpu[] = "gpu", kTaskPerNode[] = "node";

// A task's place in its step.
struct TaskPlace {
    uint32_t job_id = 0, step_id = 0, restarts = 0;
    uint32_t rank = 0, local_rank = 0;
    uint32_t tasks = 1, local_tasks = 1, nodes = 1;
    std::string node_list;       // in Slurm's format: "gpu[01-04,9],login1"
    std::string launch_address;  // of srun's host; empty: unknown
    bool task_per_node = false;  // the task starts its node's ranks itself
};

using Variable = std::pair<std::string, std::string>;

// SLURM_NTASKS_PER_NODE comes first. The others apply only if the user has not set them. A launcher
// (torchrun) sets the ranks' variables itself: it gets only the address of its first node.
[[nodiscard]] std::vector<Variable> step_variables(const TaskPlace &place);

// All variables that step_variables() may set, except the first. Removed if a job inherits them.
inline constexpr std::array kStepVariables{
    "RANK",        "WORLD_SIZE",  "LOCAL_RANK",         "LOCAL_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT", "PL_TRAINER_DEVICES", "PL_TRAINER_NUM_NODES",
};

// Those of them that SPANK, not the user, has set: a comma-separated list of names.
inline constexpr char kSetBySpank[] = "RINGRT_STEP_VARIABLES";
[[nodiscard]] bool is_listed(std::string_view list, std::string_view name);

// "gpu01" for "gpu[01-04,9],login1"; empty if the text is not a list of hosts.
[[nodiscard]] std::string first_host(std::string_view node_list);

}  // namespace ringrt::slurm
