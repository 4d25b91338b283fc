// SPDX-License-Identifier: BSD-3-Clause
// AFS-L: apathetic future share, with known lengths.
//
// Hwang et al., Elastic Resource Sharing for Distributed Deep Learning, NSDI 2021, algorithm 1.
// Every job gets one GPU in order of arrival while GPUs last. Each further GPU goes to the winner
// of a tournament. Of two jobs, let a be the one that ends first at their present sizes. b takes
// the GPU only if its relative gain (p_b' - p_b) / p_b' is larger than a's (p_a' - p_a) / p_a,
// where p is the present speed and p' the speed with one more GPU. So the short job is favoured,
// unless the long job uses the GPU so much better that waiting for the short job to end would cost
// more.
//
// Minimises the mean completion time of two jobs exactly; for more jobs it is the paper's
// heuristic. A tournament is not a total order, so each GPU costs one pass over the jobs: O(jobs x
// GPUs).
#include <algorithm>

#include "slurm_plugin/policy/baselines/baselines.h"

namespace ringrt::policy {
namespace {

struct Entry {
    double speed = 0, next = 0;  // steps/s now and with one more GPU; next <= speed: no growth
    double left_s = 0;
};

Entry entry_of(const Job &job, int gpus) {
    Entry entry;
    entry.speed = 1000 / step_ms(job, gpus);
    entry.next = gpus + 1 <= job.gpus_max ? 1000 / step_ms(job, gpus + 1) : 0;
    entry.left_s = job.steps_left / entry.speed;
    return entry;
}

// Whether `x` takes the next GPU instead of `y`.
bool wins(const Entry &x, const Entry &y) {
    const bool x_first = x.left_s <= y.left_s;
    const Entry &a = x_first ? x : y, &b = x_first ? y : x;
    const bool b_wins = (b.next - b.speed) / b.next > (a.next - a.speed) / a.speed;
    return x_first ? !b_wins : b_wins;
}

}  // namespace

std::vector<Allotment> decide_afs(const SimJobs &sim, const Capacity &capacity, const Options &) {
    const std::span<const Job> jobs = sim.jobs;
    int left = total_gpus(capacity);
    std::vector<Allotment> out(jobs.size());
    std::vector<Entry> entries(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        out[i] = {.job_id = jobs[i].id,
                  .gpus = left > 0 ? 1 : 0,
                  .reason = left > 0 ? Reason::none : Reason::waits};
        left -= out[i].gpus;
        if (out[i].gpus > 0) entries[i] = entry_of(jobs[i], 1);
    }
    for (; left > 0; --left) {
        std::size_t best = jobs.size();
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (out[i].gpus == 0 || entries[i].next <= entries[i].speed) continue;
            if (best == jobs.size() || wins(entries[i], entries[best])) best = i;
        }
        if (best == jobs.size()) break;
        entries[best] = entry_of(jobs[best], ++out[best].gpus);
    }
    return out;
}

}  // namespace ringrt::policy
