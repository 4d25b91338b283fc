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
#include "slurm_plugin/slurm/host/sched_view.h"
#include "slurm_plugin/slurm/job_submit/start_size.h"

namespace ringrt::slurm {

struct Flags {
    records::GpuRange range;
    int signal = 0;
    int grace_s = 0;
};

// The three flags as they came from SPANK. nullopt: the job does not ask to be malleable.
[[nodiscard]] std::optional<std::variant<Flags, Refusal>> flags_of(const job_desc_msg_t &job);

// nullopt: nothing speaks against it.
[[nodiscard]] std::optional<Refusal> refuse_kind(const job_desc_msg_t &job);
// What pins a job to nodes, or to a shape that start_of() does not know.
[[nodiscard]] std::optional<Refusal> refuse_layout(const job_desc_msg_t &job);
[[nodiscard]] std::optional<Refusal> refuse_partition(const Flags &flags, const char *partition,
                                                      const RingrtPartitionView &view);

// Nodes that are to have more GPUs than any there has.
[[nodiscard]] std::optional<Refusal> refuse_node(const records::Layout &layout,
                                                 const char *partition,
                                                 const RingrtPartitionView &view);

// What the job asks for, for start_of().
[[nodiscard]] std::variant<Header, Refusal> header_of(const job_desc_msg_t &job);

// The option in which the job names its kind of GPU, as Slurm spells it; empty: in none.
[[nodiscard]] std::string gpu_kind(const job_desc_msg_t &job);

}  // namespace ringrt::slurm
