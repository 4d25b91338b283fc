// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/selection.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "slurm_plugin/policy/engine/greedy.h"

namespace ringrt::policy {
namespace {

// GPUs on each of its nodes if the job had only `gpus`: the policy shrinks jobs onto their first
// nodes.
template <class Visit>
void for_each_share(const Job &job, int gpus, std::size_t nodes, Visit visit) {
    for (const auto &[node, held] : job.held) {
        const int here = std::min(held, gpus);
        gpus -= here;
        if (here > 0 && node >= 0 && static_cast<std::size_t>(node) < nodes)
            visit(static_cast<std::size_t>(node), here);
    }
}

int least_gpus(const Job &job) { return job.keeps_its_size() ? job.gpus_now : job.gpus_min; }

}  // namespace

Values::Growth Values::best_growth(std::size_t job, int from, int free) const {
    const Row &row = rows_[job];
    const double here = from > 0 ? at(job, from) : 0;
    Growth best;
    for (int level = from > 0 ? row.ladder.level(from) + 1 : 0;; ++level) {
        const int64_t to = int64_t{row.ladder.min} << level;
        if (to > row.most || to - from > free) break;
        const double gain = (value(row, level) - here) / static_cast<double>(to - from);
        if (gain > best.gain) best = {.gain = gain, .to = static_cast<int>(to)};
    }
    return best;
}

Selection::Selection(std::span<const Job> jobs, const Capacity &capacity, const Options &options)
    : jobs_(jobs),
      values_(jobs, options),
      must_pause_(jobs.size()),
      sizes_(jobs.size()),
      free_(total_gpus(capacity)) {
    free_overcommitted_nodes(capacity);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs[i].gpus_now > 0 && !can_have_none(jobs[i])) sizes_[i] = least_gpus(jobs[i]);
        free_ -= sizes_[i];
    }
    start_in_order();
    grow();
}

void Selection::free_overcommitted_nodes(const Capacity &capacity) {
    std::vector<int> left = capacity.node_gpus;
    for (const Job &job : jobs_)
        for_each_share(job, least_gpus(job), left.size(),
                       [&](std::size_t node, int gpus) { left[node] -= gpus; });
    const auto is_over = [&](std::size_t node) {
        return capacity.node_gpus[node] >= 0 && left[node] < 0;
    };
    const auto helps = [&](std::size_t i) {
        bool any = false;
        for_each_share(jobs_[i], jobs_[i].gpus_min, left.size(),
                       [&](std::size_t node, int) { any |= is_over(node); });
        return any;
    };
    std::vector<std::size_t> by_gain;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
        if (jobs_[i].gpus_now > 0 && can_have_none(jobs_[i]) && helps(i)) by_gain.push_back(i);
    std::ranges::sort(by_gain, {},
                      [&](std::size_t i) { return std::tuple(first_gain(i), jobs_[i].id); });
    for (const std::size_t i : by_gain) {
        if (!helps(i)) continue;
        must_pause_[i] = true;
        for_each_share(jobs_[i], jobs_[i].gpus_min, left.size(),
                       [&](std::size_t node, int gpus) { left[node] += gpus; });
    }
}

void Selection::start_in_order() {
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
        if (is_new(jobs_[i])) pending.push_back(i);
    std::ranges::sort(pending, {}, [&](std::size_t i) {
        return std::tuple(-jobs_[i].priority, jobs_[i].submit_s, jobs_[i].id);
    });
    for (const std::size_t i : pending) {
        if (jobs_[i].gpus_min > free_) break;
        sizes_[i] = jobs_[i].gpus_min;
        free_ -= sizes_[i];
    }
}

// Grants all growths above the gain at which the GPUs run out. It is the same as granting them one
// by one, in O(n).
void Selection::grow_at_once(const std::vector<std::size_t> &growing) {
    std::vector<Edge> edges;
    for (const std::size_t i : growing) {
        double least = std::numeric_limits<double>::infinity();
        for (int size = sizes_[i];;) {
            const Values::Growth next = values_.best_growth(i, size, free_);
            if (next.to == 0) break;
            least = std::min(least, next.gain);
            edges.push_back({.gain = least, .gpus = next.to - size});
            size = next.to;
        }
    }
    const int free = free_;
    const double above = threshold(edges, free);
    for (const std::size_t i : growing)
        for (Values::Growth next; (next = values_.best_growth(i, sizes_[i], free)).gain > above;) {
            free_ -= next.to - sizes_[i];
            sizes_[i] = next.to;
        }
}

void Selection::grow() {
    std::vector<std::size_t> growing;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const bool grows = sizes_[i] > 0 ? !jobs_[i].keeps_its_size() : can_have_none(jobs_[i]);
        if (grows && !must_pause_[i]) growing.push_back(i);
    }
    if (free_ > 0) grow_at_once(growing);
    std::vector<Bid> heap;
    for (const std::size_t i : growing)
        if (const Values::Growth next = growth(i); next.to > 0)
            heap.push_back({next.gain, jobs_[i].id, i, next.to});
    std::make_heap(heap.begin(), heap.end());
    while (!heap.empty() && free_ > 0) {
        std::pop_heap(heap.begin(), heap.end());
        const Bid best = heap.back();
        heap.pop_back();
        int &size = sizes_[best.job];
        if (best.to - size <= free_) {
            free_ -= best.to - size;
            size = best.to;
        }
        if (const Values::Growth next = growth(best.job); next.to > 0) {
            heap.push_back({next.gain, best.id, best.job, next.to});
            std::push_heap(heap.begin(), heap.end());
        }
    }
}

}  // namespace ringrt::policy
