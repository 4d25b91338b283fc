// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/squeeze.h"

#include <algorithm>

#include "slurm_plugin/policy/gain.h"
#include "slurm_plugin/policy/placement.h"

namespace ringrt::policy {

namespace {

struct Holder {
    std::size_t job = 0;
    int gpus = 0;  // on this node
};

bool can_give(const Job &job, int size) {
    return !job.pinned && on_ladder(job, size) && size / 2 >= job.gpus_min;
}

double loss_per_gpu(const Job &job, int size, const Options &options) {
    return (value(job, size, options) - value(job, size / 2, options)) / (size - size / 2);
}

// Halves jobs of one node until `excess` GPUs are given or nobody can give more.
void squeeze_node(std::span<const Job *const> jobs, std::vector<Holder> &here, int excess,
                  std::vector<int> &sizes, const Options &options) {
    while (excess > 0) {
        Holder *least = nullptr;
        double least_loss = 0;
        for (Holder &holder : here) {
            if (holder.gpus == 0 || !can_give(*jobs[holder.job], sizes[holder.job])) continue;
            const double loss = loss_per_gpu(*jobs[holder.job], sizes[holder.job], options);
            if (least && loss >= least_loss) continue;
            least = &holder;
            least_loss = loss;
        }
        if (!least) return;
        int &size = sizes[least->job];
        const int given = std::min(least->gpus, size - size / 2);
        size /= 2;
        least->gpus -= given;
        excess -= given;
    }
}

}  // namespace

std::vector<int> sizes_to_stay(std::span<const Job *const> jobs, const Capacity &capacity,
                               const Options &options) {
    std::vector<int> sizes, held(capacity.node_gpus.size());
    for (const Job *job : jobs) {
        sizes.push_back(job->gpus_now);
        for (const auto &[node, gpus] : job->held)
            if (node >= 0 && static_cast<std::size_t>(node) < held.size()) held[node] += gpus;
    }
    for (std::size_t node = 0; node < held.size(); ++node) {
        if (held[node] <= capacity.node_gpus[node]) continue;
        std::vector<Holder> here;
        int remaining = 0;  // of jobs that were halved for another node already, what is left here
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            int given = jobs[i]->gpus_now - sizes[i];
            for (auto share = jobs[i]->held.rbegin(); share != jobs[i]->held.rend(); ++share) {
                const int left = std::max(0, share->second - given);
                given -= share->second - left;
                if (share->first != static_cast<int>(node)) continue;
                here.push_back({i, left});
                remaining += left;
            }
        }
        squeeze_node(jobs, here, remaining - capacity.node_gpus[node], sizes, options);
    }
    return sizes;
}

}  // namespace ringrt::policy
