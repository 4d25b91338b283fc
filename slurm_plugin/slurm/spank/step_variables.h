// SPDX-License-Identifier: GPL-2.0-or-later
// What training frameworks look for in the environment of a step's task: the names of PyTorch's
// rendezvous (RANK, WORLD_SIZE, MASTER_ADDR, ...), of Lightning (PL_TRAINER_DEVICES, ...), and
// SLURM_NTASKS_PER_NODE, without which Lightning takes no more than one task. Knows nothing of
// Slurm.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrt::slurm {

// What a task of the job's steps is: an entry of the job control environment, which sbatch makes
// and puts into the job's environment (SPANK). There slurmctld fills it in (job_submit), and
// slurmstepd reads it (SPANK).
inline constexpr char kLayoutControl[] = "MALLEABLE_LAYOUT";
inline constexpr char kLayoutInJob[] = "SLURM_SPANK_MALLEABLE_LAYOUT";
inline constexpr char kTaskPerGpu[] = "gpu", kTaskPerNode[] = "node";

// A task's place in its step.
struct TaskPlace {
    uint32_t job_id = 0, step_id = 0, restarts = 0;
    uint32_t rank = 0, local_rank = 0;
    uint32_t tasks = 1, local_tasks = 1, nodes = 1;
    std::string node_list;       // as Slurm writes it: "gpu[01-04,9],login1"
    std::string launch_address;  // of the host where srun runs; empty: not known
    bool task_per_node = false;  // the task starts the ranks of its node itself
};

using Variable = std::pair<std::string, std::string>;

// SLURM_NTASKS_PER_NODE comes first; all others are for where the user has set none. A launcher
// (torchrun) makes the ranks' variables itself: it gets only where its first node is.
[[nodiscard]] std::vector<Variable> step_variables(const TaskPlace &place);

// All but the first that step_variables() may set, to take away what a job inherits.
inline constexpr std::array kStepVariables{
    "RANK",        "WORLD_SIZE",  "LOCAL_RANK",         "LOCAL_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT", "PL_TRAINER_DEVICES", "PL_TRAINER_NUM_NODES",
};

// Which of them SPANK has set, and not the user: a comma-separated list of names.
inline constexpr char kSetBySpank[] = "RINGRT_STEP_VARIABLES";
[[nodiscard]] bool is_listed(std::string_view list, std::string_view name);

// "gpu01" of "gpu[01-04,9],login1"; empty where the text is no list of hosts.
[[nodiscard]] std::string first_host(std::string_view node_list);

}  // namespace ringrt::slurm
