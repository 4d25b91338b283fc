// SPDX-License-Identifier: GPL-2.0-or-later
// A job's memory request, and the billing of its present run.
#pragma once

#include <slurm/slurm.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {

// "gres:gpu:4096" or "gres/gpu:4096", in MB
[[nodiscard]] inline uint64_t mb_per_gpu(const std::string &text) {
    const std::size_t colon = text.rfind(':');
    if (!text.starts_with("gres") || colon == std::string::npos) return 0;
    return std::strtoull(text.c_str() + colon + 1, nullptr, 10);
}

[[nodiscard]] inline controller::MemoryRequest memory_of(const slurm_job_info_t &job) {
    using Per = controller::MemoryRequest::Per;
    if (const uint64_t mb = mb_per_gpu(bounded_text(job.mem_per_tres)); mb > 0)
        return {.per = Per::gpu, .mb = mb};
    if (job.pn_min_memory == NO_VAL64) return {};
    return {.per = (job.pn_min_memory & MEM_PER_CPU) != 0 ? Per::cpu : Per::node,
            .mb = job.pn_min_memory & ~MEM_PER_CPU};
}

[[nodiscard]] inline double billing_of(const slurm_job_info_t &job) {
    const bool is_told = std::isfinite(job.billable_tres) && job.billable_tres < 1e12;
    return is_told ? std::max(0.0, job.billable_tres) : 0;
}

}  // namespace ringrt::slurm
