// SPDX-License-Identifier: GPL-2.0-or-later
// May this job be malleable, and at which size does it start? Reads a job description, changes
// none.
#pragma once

#include <slurm/slurm.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/slurm/sched_view.h"

namespace ringrt::slurm {

struct Flags {
    records::GpuRange range;
    int signal = 0;
    int grace_s = 0;
};

struct Refusal {
    std::string message;  // one line: what was got, and an example of what is right
};

// The three flags as they came from SPANK. nullopt: the job does not ask to be malleable.
[[nodiscard]] std::optional<std::variant<Flags, Refusal>> flags_of(const job_desc_msg_t &job);

// nullopt: nothing speaks against it.
[[nodiscard]] std::optional<Refusal> refuse_kind(const job_desc_msg_t &job);
[[nodiscard]] std::optional<Refusal> refuse_layout(const job_desc_msg_t &job);
[[nodiscard]] std::optional<Refusal> refuse_partition(const Flags &flags, const char *partition,
                                                      const RingrtPartitionView &view);

// GPUs to start with: what --gpus or --ntasks asks for, else MIN.
[[nodiscard]] std::variant<int, Refusal> start_gpus(const job_desc_msg_t &job,
                                                    records::GpuRange range);

}  // namespace ringrt::slurm
