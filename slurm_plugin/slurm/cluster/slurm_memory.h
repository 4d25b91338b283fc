// SPDX-License-Identifier: GPL-2.0-or-later
// A job's memory request, the billing of its present run, and the CPUs and memory of a node.
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

// A node's CPUs and memory, and what of them is free.
inline void note_amounts(const node_info_t &node, controller::NodeRecord &record) {
    const Allocated used = allocated_on(node);
    const int usable = node.cpus_efctv > 0 ? node.cpus_efctv : node.cpus;
    record.cpus = usable;
    record.cpus_free = std::max(0, usable - used.cpus);
    record.threads = std::max<int>(1, node.threads);
    // Slurm's default for a node without RealMemory is 1.
    const auto mb =
        static_cast<int64_t>(node.real_memory) - static_cast<int64_t>(node.mem_spec_limit);
    if (node.real_memory > 1 && mb > 0) {
        record.mb = mb;
        record.mb_free = std::max<int64_t>(0, mb - static_cast<int64_t>(used.mb));
    }
}

}  // namespace ringrt::slurm
