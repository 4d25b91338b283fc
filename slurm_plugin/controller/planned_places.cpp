// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/planned_places.h"

namespace ringrt::controller {

// A moving job holds no place in the policy's input. A job that is to be asked to move is passed to
// the policy as one that is pending. The policy does not know which nodes a job may use: if they
// differ, the job moves with MIN to the planned place, and what others have borrowed there is
// returned.
void let_move(const Pool &pool, std::size_t index, const JobRecord &record, Target &target,
              policy::Job &seen) {
    const auto found = pool.moving.find(index);
    if (found == pool.moving.end()) return;
    const auto &[rigid, to] = found->second;
    const bool is_to_planned_place = pool.is_mixed || !record.features.empty();
    seen.held.clear();
    if (!target.job.pinned) {
        target.moves_for = rigid;
        seen.gpus_now = is_to_planned_place ? seen.gpus_min : 0;
        seen.pinned = is_to_planned_place;
    }
    if (is_to_planned_place && seen.gpus_now == seen.gpus_min) seen.held = to;
}

// Malleable jobs on the nodes where a pending job's MIN is placed return what is missing there.
void place_min(const Pool &pool, const Target &target, policy::Job &seen) {
    const auto found = pool.min_places.find(seen.id);
    if (found == pool.min_places.end() || target.job.pinned) return;
    seen.gpus_now = seen.gpus_min;
    seen.held = found->second;
    seen.pinned = true;
}

// A job without a place elsewhere stays. What other jobs give is for the jobs that move, and so in
// the end for the rigid job.
void take_moves(const Pool &pool, Target &target) {
    if (target.moves_for != 0 && target.allotment.gpus == 0) {
        target.allotment.gpus = target.job.gpus_now;
        target.moves_for = 0;
    }
    const bool gives = !pool.moving.empty() && target.allotment.gpus < target.job.gpus_now;
    if (target.moves_for != 0 || gives) target.allotment.reason = policy::Reason::gave_to_rigid;
}

}  // namespace ringrt::controller
