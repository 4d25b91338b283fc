// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/gpu_shares.h"

#include <algorithm>

namespace ringrt::controller {

GpuShares::GpuShares(const Observation &observation)
    : nodes_(observation.nodes), gpus_(observation.nodes.size()) {
    for (const JobRecord &job : observation.jobs)
        for (const HeldShare &held : job.shares_held)
            if (is_node(held.node))
                use({.kind = job.gpu_share.kind, .amount = held.amount}, held.node, held.gpu);
}

int GpuShares::all_of(const std::string &kind, int node) const {
    const auto &shares = nodes_[static_cast<std::size_t>(node)].gpu_shares;
    const auto found = std::ranges::find(shares, kind, &GpuShare::kind);
    return found == shares.end() ? 0 : found->amount;
}

void GpuShares::use(const GpuShare &share, int node, int index) {
    std::vector<Gpu> &gpus = gpus_[static_cast<std::size_t>(node)];
    auto gpu = index < 0 ? gpus.end() : std::ranges::find(gpus, index, &Gpu::index);
    if (gpu == gpus.end())
        gpu = gpus.insert(gpu,
                          {.index = index, .kind = share.kind, .free = all_of(share.kind, node)});
    gpu->free -= share.amount;
}

int GpuShares::shared_gpus(int node) const {
    return is_node(node) ? static_cast<int>(gpus_[static_cast<std::size_t>(node)].size()) : 0;
}

int GpuShares::with_room(const GpuShare &share, int node) const {
    if (share.amount <= 0 || !is_node(node)) return -1;
    const std::vector<Gpu> &gpus = gpus_[static_cast<std::size_t>(node)];
    const auto found = std::ranges::find_if(
        gpus, [&](const Gpu &gpu) { return gpu.kind == share.kind && gpu.free >= share.amount; });
    return found == gpus.end() ? -1 : static_cast<int>(found - gpus.begin());
}

int GpuShares::whole_gpus(const JobRecord &job, int node, int gpus) const {
    if (job.gpu_share.amount <= 0 || !is_node(node)) return gpus;
    if (with_room(job.gpu_share, node) >= 0) return 0;
    const bool has_another =
        job.gpu_share.kind == "mps" &&
        std::ranges::find(gpus_[static_cast<std::size_t>(node)], "mps", &Gpu::kind) !=
            gpus_[static_cast<std::size_t>(node)].end();
    return has_another ? kNever : gpus;
}

void GpuShares::take(const JobRecord &job, int node) {
    if (job.gpu_share.amount <= 0 || !is_node(node)) return;
    if (const int gpu = with_room(job.gpu_share, node); gpu >= 0)
        gpus_[static_cast<std::size_t>(node)][static_cast<std::size_t>(gpu)].free -=
            job.gpu_share.amount;
    else
        use(job.gpu_share, node, -1);
}

bool offers_share(const NodeRecord &node, const GpuShare &share) {
    return share.amount <= 0 || std::ranges::any_of(node.gpu_shares, [&](const GpuShare &offered) {
               return offered.kind == share.kind && offered.amount >= share.amount;
           });
}

}  // namespace ringrt::controller
