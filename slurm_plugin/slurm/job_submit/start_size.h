// SPDX-License-Identifier: GPL-2.0-or-later
// A batch script's header requests nodes, tasks and GPUs. For a malleable job it gives the start
// size, and the layout of the ranks on a node at every size. Independent of Slurm.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::slurm {

struct Refusal {
    std::string message;  // one line: what was given, and a correct example
};

// As written, each from 1 to records::kGpusMax; none: not given.
struct Header {
    std::optional<int> nodes, tasks, tasks_per_node;
    std::optional<int> gpus, gpus_per_node, gpus_per_task;
    std::optional<int> cpus_per_task, cpus_per_gpu;
};

struct Start {
    int gpus = 0;            // a size of the ladder
    bool requested = false;  // by the header; otherwise it is MIN
    records::Layout layout;
    std::optional<int> cpus_per_task;
    std::string note;  // one line for the user if the header's size is not on the ladder
};

// Refuses a header that contradicts itself. A header without tasks per node leaves the layout to
// the scheduler: one task per GPU, on as few nodes as possible.
[[nodiscard]] std::variant<Start, Refusal> start_of(const Header &header, records::GpuRange range);

}  // namespace ringrt::slurm
