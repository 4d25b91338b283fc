// SPDX-License-Identifier: BSD-3-Clause
// Since when a resize has been wanted, and from when on it may be asked. A resize for a pending job
// is asked at once, one that only makes better use of GPUs after policy::deferral_s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/policy/value.h"

namespace ringrt::controller {

[[nodiscard]] inline Wish::For wish_of(const Target &target) {
    const int wanted = target.allotment.gpus, now = target.job.gpus_now;
    if (target.job.id == 0 || target.job.pinned || wanted == now) return Wish::For::nothing;
    return wanted > now ? Wish::For::more : Wish::For::less;
}

// Call in each pass.
inline void update_wishes(const std::vector<MalleableJob> &jobs, const Plan &plan,
                          std::map<uint32_t, JobTracker> &trackers, double now_s) {
    for (std::size_t i = 0; i < jobs.size(); ++i)
        trackers[jobs[i].record->id].wish.update(wish_of(plan.targets[i]), now_s);
}

// Unix time. A move, and a shrink while a job is pending for GPUs, wait for nothing.
[[nodiscard]] inline double askable_s(const Plan &plan, const Target &target, const Wish &wish,
                                      const policy::Options &options) {
    const Wish::For wanted = wish_of(target);
    if (target.pool < 0 || target.moves_for != 0 || wanted == Wish::For::nothing) return 0;
    const bool is_needed = target.allotment.reason == policy::Reason::gave_to_rigid ||
                           plan.pools[static_cast<std::size_t>(target.pool)].has_pending;
    if (wanted == Wish::For::less && is_needed) return 0;
    return wish.since_s() + policy::deferral_s(target.job, options);
}

}  // namespace ringrt::controller
