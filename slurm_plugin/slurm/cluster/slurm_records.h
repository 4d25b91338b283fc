// SPDX-License-Identifier: GPL-2.0-or-later
// From Slurm's public structs to the controller's values. Every text is bounded; a null pointer is
// an empty text.
#pragma once

#include <slurm/slurm.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

inline constexpr std::size_t kCommentBytesMax = 4096;
// Slurm sets no bound. A job whose AdminComment is longer is left alone: an update would cut it.
inline constexpr std::size_t kAdminCommentBytesMax = 65536;

[[nodiscard]] std::string bounded_text(const char *text, std::size_t bytes_max = kCommentBytesMax);
// Empty where it is longer than kAdminCommentBytesMax.
[[nodiscard]] inline std::string admin_comment_of(const slurm_job_info_t &job) {
    const char *text = job.admin_comment == nullptr ? "" : job.admin_comment;
    const std::size_t bytes = strnlen(text, kAdminCommentBytesMax + 1);
    return {text, bytes > kAdminCommentBytesMax ? 0 : bytes};
}

// GPUs that the job asks for in all: per job, per node, per task or per socket.
[[nodiscard]] int gpus_requested(const slurm_job_info_t &job);

// At one of its user, account or QOS that others share.
[[nodiscard]] bool waits_at_limit(const slurm_job_info_t &job);

[[nodiscard]] controller::SlurmHold slurm_hold_of(const slurm_job_info_t &job);

// `nodes` is only read for how many GPUs each has.
[[nodiscard]] controller::JobRecord job_record(const slurm_job_info_t &job,
                                               std::span<const controller::NodeRecord> nodes);

// Index = Slurm's node index, so nodes that Slurm hides stand here without a name and a GPU. A
// partition that starts no jobs now (DOWN, INACTIVE) is left out: a job that left for its resize
// would wait there until it is up again. A node in no other one is in a partition without a name.
[[nodiscard]] std::vector<controller::NodeRecord> node_records(
    const node_info_msg_t &nodes, const partition_info_msg_t &partitions);

// Calls visit(index) for each index in Slurm's list of [first, last] pairs that ends with -1.
template <typename Visit>
void for_each_node(const int32_t *pairs, std::size_t nodes, Visit visit) {
    if (pairs == nullptr) return;
    for (; pairs[0] >= 0 && pairs[1] >= pairs[0]; pairs += 2)
        for (int32_t index = pairs[0]; index <= pairs[1] && index < static_cast<int64_t>(nodes);
             ++index)
            visit(static_cast<std::size_t>(index));
}

}  // namespace ringrt::slurm
