// SPDX-License-Identifier: GPL-2.0-or-later
// Converts Slurm's public structs to the controller's values. Every text is bounded; a null pointer
// becomes an empty text.
#pragma once

#include <slurm/slurm.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

inline constexpr std::size_t kCommentBytesMax = 4096;
// Slurm sets no bound. A job with a longer AdminComment is not managed: an update would truncate
// it.
inline constexpr std::size_t kAdminCommentBytesMax = 65536;

[[nodiscard]] std::string bounded_text(const char *text, std::size_t bytes_max = kCommentBytesMax);
// Empty if it is longer than kAdminCommentBytesMax.
[[nodiscard]] inline std::string admin_comment_of(const slurm_job_info_t &job) {
    const char *text = job.admin_comment == nullptr ? "" : job.admin_comment;
    const std::size_t bytes = strnlen(text, kAdminCommentBytesMax + 1);
    return {text, bytes > kAdminCommentBytesMax ? 0 : bytes};
}

// Total GPUs requested: per job, per node, per task or per socket.
[[nodiscard]] int gpus_requested(const slurm_job_info_t &job);

// `nodes` is used only for the GPUs of each.
[[nodiscard]] controller::JobRecord job_record(const slurm_job_info_t &job,
                                               std::span<const controller::NodeRecord> nodes);

// Index = Slurm's node index, so nodes that Slurm hides have an entry without name and GPUs. A
// partition that starts no jobs now (DOWN, INACTIVE) is left out: a job requeued for a resize would
// be pending there until it is up. A node in no other partition is in one without a name. After the
// nodes come the other parts of those with several GPU types (node_parts.h).
[[nodiscard]] std::vector<controller::NodeRecord> node_records(
    const node_info_msg_t &nodes, const partition_info_msg_t &partitions);

// Calls visit(index) for each index in Slurm's list of [first, last] pairs, which ends with -1.
template <typename Visit>
void for_each_node(const int32_t *pairs, std::size_t nodes, Visit visit) {
    if (pairs == nullptr) return;
    for (; pairs[0] >= 0 && pairs[1] >= pairs[0]; pairs += 2)
        for (int32_t index = pairs[0]; index <= pairs[1] && index < static_cast<int64_t>(nodes);
             ++index)
            visit(static_cast<std::size_t>(index));
}

}  // namespace ringrt::slurm
