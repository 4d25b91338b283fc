// SPDX-License-Identifier: BSD-3-Clause
// Optimus: one GPU at a time to the job whose remaining time falls most.
//
// Peng et al., Optimus, EuroSys 2018. Every job gets one GPU in order of arrival while GPUs last.
// Then each further GPU goes to the job whose time left falls most, Q(T(w) - T(w+1)). A job that
// would not gain from its next GPU gets no more. Stops when no job would gain.
//
// Guarantees: each step makes the largest single saving. If step times are convex, the result is
// the exact minimum of the summed times left. If T(w) is not convex (another collective beyond a
// power of two, another node), it stops short. Long jobs have the largest savings and take the
// GPUs: it minimises the work in the system, not the mean completion time.
#include <algorithm>
#include <numeric>
#include <queue>

#include "slurm_plugin/policy/baselines/baselines.h"

namespace ringrt::policy {
namespace {

struct Bid {
    double saving_ms;
    std::size_t job;
    bool operator<(const Bid &other) const {  // top of the heap: largest saving, then first job
        return saving_ms != other.saving_ms ? saving_ms < other.saving_ms : job > other.job;
    }
};

double saving_of_one_more(const Job &job, int gpus) {
    if (gpus + 1 > job.gpus_max) return 0;
    return (step_ms(job, gpus) - step_ms(job, gpus + 1)) * job.steps_left;
}

}  // namespace

std::vector<Allotment> decide_optimus(const SimJobs &sim, const Capacity &capacity,
                                      const Options &) {
    const std::span<const Job> jobs = sim.jobs;
    int left = total_gpus(capacity);
    std::vector<Allotment> out(jobs.size());
    std::priority_queue<Bid> bids;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        out[i] = {.job_id = jobs[i].id,
                  .gpus = left > 0 ? 1 : 0,
                  .reason = left > 0 ? Reason::none : Reason::waits};
        left -= out[i].gpus;
        if (out[i].gpus > 0) bids.push({saving_of_one_more(jobs[i], 1), i});
    }
    while (left > 0 && !bids.empty() && bids.top().saving_ms > 0) {
        const std::size_t i = bids.top().job;
        bids.pop();
        --left;
        bids.push({saving_of_one_more(jobs[i], ++out[i].gpus), i});
    }
    return out;
}

}  // namespace ringrt::policy
