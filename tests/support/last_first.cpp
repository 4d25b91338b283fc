// SPDX-License-Identifier: BSD-3-Clause
// A policy for tests of pauses: the newest job gets as much as its range allows, then the one
// before it, and so on. A job for which nothing is left is paused if it may be.
#include <algorithm>
#include <numeric>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {
namespace {

// What a job has before the order counts.
int kept_by(const Job &job) {
    if (job.keeps_its_size()) return job.gpus_now;
    return job.gpus_now > 0 && !job.may_pause ? job.gpus_min : 0;
}

Allotment allotment_of(const Job &job, int left) {
    Allotment out{.job_id = job.id, .gpus = kept_by(job), .reason = Reason::pinned};
    if (job.keeps_its_size()) return out;
    const int most =
        std::min({left + out.gpus, job.gpus_max, std::max(job.gpus_cap, job.gpus_min)});
    if (most >= job.gpus_min) out.gpus = job.ladder().floor(most);
    out.reason = out.gpus > 0                     ? Reason::best_gain
                 : job.gpus_now > 0 || job.paused ? Reason::paused
                                                  : Reason::waits;
    return out;
}

std::vector<Allotment> decide(std::span<const Job> jobs, const Capacity &capacity,
                              const Options &) {
    int left = total_gpus(capacity);
    for (const Job &job : jobs) left -= kept_by(job);
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t i) { return jobs[i].id; });
    std::vector<Allotment> out(jobs.size());
    for (const std::size_t i : order) {
        out[i] = allotment_of(jobs[i], std::max(0, left));
        left -= out[i].gpus - kept_by(jobs[i]);
    }
    return out;
}

constexpr Policy kPolicies[] = {{"last-first", decide, "the newest job first"}};

}  // namespace

extern const PolicyList last_first_policies;  // for policies.mk
const PolicyList last_first_policies{kPolicies};

}  // namespace ringrt::policy
