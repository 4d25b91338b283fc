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

// Of "gres:gpu:4096" or "gres/gpu:4096", or "gpu:4096" if it is a default of the site; 0: none.
[[nodiscard]] inline uint64_t amount_per_gpu(const std::string &text) {
    const std::size_t colon = text.rfind(':');
    const bool is_of_gpu = text.starts_with("gres") || text.starts_with("gpu:");
    return is_of_gpu && colon != std::string::npos
               ? std::strtoull(text.c_str() + colon + 1, nullptr, 10)
               : 0;
}

// While a job is pending, Slurm does not count the CPUs per GPU that it requests or that are the
// site's default. They do not apply if it requests CPUs per task.
[[nodiscard]] inline int cpus_of(const slurm_job_info_t &job, int gpus) {
    constexpr uint64_t kMost = 1 << 20;
    uint64_t cpus = std::min<uint64_t>(job.num_cpus, kMost);
    const bool has_per_task = job.cpus_per_task != NO_VAL16 && job.cpus_per_task > 1;
    if ((job.job_state & JOB_STATE_BASE) == JOB_PENDING && !has_per_task && gpus > 0) {
        const uint64_t per_gpu = std::min(kMost, amount_per_gpu(bounded_text(job.cpus_per_tres)));
        cpus = std::clamp(per_gpu * static_cast<uint64_t>(gpus), cpus, kMost);
    }
    return static_cast<int>(cpus);
}

[[nodiscard]] inline controller::MemoryRequest memory_of(const slurm_job_info_t &job) {
    using Per = controller::MemoryRequest::Per;
    if (const uint64_t mb = amount_per_gpu(bounded_text(job.mem_per_tres)); mb > 0)
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
