// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a job may be malleable, and its start size. Reads a job description, changes nothing.
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
    bool pause = false;
};

// The flags as SPANK passed them. nullopt: the job does not request to be malleable.
[[nodiscard]] std::optional<std::variant<Flags, Refusal>> flags_of(const job_desc_msg_t &job);

// nullopt: accepted.
[[nodiscard]] std::optional<Refusal> refuse_kind(const job_desc_msg_t &job);
// Refuses options that pin the job to nodes, or to a shape that start_of() does not support.
[[nodiscard]] std::optional<Refusal> refuse_layout(const job_desc_msg_t &job);
[[nodiscard]] std::optional<Refusal> refuse_partition(const Flags &flags, const char *partition,
                                                      const RingrtPartitionView &view);

// Refuses nodes with more GPUs than any node of the partition has, and a MIN that the partition's
// nodes cannot share evenly.
[[nodiscard]] std::optional<Refusal> refuse_node(records::GpuRange range,
                                                 const records::Layout &layout,
                                                 const char *partition,
                                                 const RingrtPartitionView &view);

// The job's request, for start_of().
[[nodiscard]] std::variant<Header, Refusal> header_of(const job_desc_msg_t &job);

// The option that names the job's kind of GPU, in Slurm's spelling; empty: none does.
[[nodiscard]] std::string gpu_type(const job_desc_msg_t &job);

}  // namespace ringrt::slurm
