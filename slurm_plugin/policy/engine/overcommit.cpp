// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/overcommit.h"

#include <algorithm>
#include <map>

#include "slurm_plugin/policy/value.h"

namespace ringrt::policy {

namespace {

struct Holder {
    std::size_t job = 0;
    int gpus = 0;  // on this node
};

bool can_give(const Job &job, int size) {
    return !job.pinned && job.ladder().contains(size) && size / 2 >= job.gpus_min;
}

double loss_per_gpu(const Job &job, int size, const Options &options) {
    return (value(job, size, options) - value(job, size / 2, options)) / (size - size / 2);
}

// Halves jobs on one node until `excess` GPUs are freed or no job can shrink further.
void shrink_on_node(std::span<const Job *const> jobs, std::vector<Holder> &here, int excess,
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

// What is left on this node of a job that was already halved for another node: its last shares are
// freed first.
int left_on_node(const Job &job, int node, int size) {
    int given = job.gpus_now - size, here = 0;
    for (auto share = job.held.rbegin(); share != job.held.rend(); ++share) {
        const int left = std::max(0, share->second - given);
        given -= share->second - left;
        if (share->first == node) here += left;
    }
    return here;
}

}  // namespace

std::vector<int> shrink_overcommitted_nodes(std::span<const Job *const> jobs,
                                            const Capacity &capacity, const Options &options) {
    std::vector<int> sizes, held(capacity.node_gpus.size());
    sizes.reserve(jobs.size());
    const auto is_node = [&](int node) {
        return node >= 0 && static_cast<std::size_t>(node) < held.size();
    };
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Job *job = jobs[i];
        sizes.push_back(job->gpus_now);
        for (const auto &[node, gpus] : job->held)
            if (is_node(node)) held[static_cast<std::size_t>(node)] += gpus;
    }
    std::map<int, std::vector<std::size_t>> overcommitted;  // by node: the jobs there
    for (std::size_t node = 0; node < held.size(); ++node)
        if (held[node] > capacity.node_gpus[node]) overcommitted[static_cast<int>(node)];
    if (overcommitted.empty()) return sizes;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        for (const auto &share : jobs[i]->held)
            if (const auto found = overcommitted.find(share.first); found != overcommitted.end())
                found->second.push_back(i);
    for (const auto &[node, there] : overcommitted) {
        std::vector<Holder> here;
        int remaining = 0;
        for (const std::size_t i : there) {
            here.push_back({i, left_on_node(*jobs[i], node, sizes[i])});
            remaining += here.back().gpus;
        }
        shrink_on_node(jobs, here, remaining - capacity.node_gpus[static_cast<std::size_t>(node)],
                       sizes, options);
    }
    return sizes;
}

}  // namespace ringrt::policy
