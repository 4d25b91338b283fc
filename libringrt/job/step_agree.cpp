// SPDX-License-Identifier: BSD-3-Clause
// The agreement at a step's end.
#include "libringrt/base/clock.h"
#include "libringrt/job/step.h"

namespace ringrt {

// With a resizer each rank's vote about it is needed as well.
Status StepBoundary::agree(uint64_t step, job::StepFlags &agreed, std::vector<live::Vote> &votes) {
    const double now_s = monotonic_s();
    const uint32_t arrivals = slurm_.requests();
    if (now_s < ignore_until_s_ && !slurm_.has_sigterm()) served_ = arrivals;
    const bool extends = resizer_ && resizer_->is_extension();
    const bool first_save = needs_first_save();
    const job::StepFlags mine{
        .asked = !extends && arrivals != served_,
        .ended = slurm_.is_ended(now_s),
        .written = saver_.under_way() && saver_.written(),
        .save_due = leads() && (now_s >= next_save_s_ || (first_save && !tried_first_save_)),
        .cut_off = slurm_.is_cut_off()};
    tried_first_save_ = tried_first_save_ || first_save;
    job::StepVote vote(step, mine, leads());
    if (!resizer_) {
        if (Status met = group_.largest(vote.bytes()); !met.ok()) return met;
    } else {
        struct LiveVote {
            job::StepVote step;
            live::Vote live;
        };
        // Extensions end before a requeue. None joins where a save begins: it would not take part.
        const LiveVote own{.step = vote,
                           .live = resizer_->vote(
                               extends ? asked_to_leave() : mine.asked && !mine.cut_off,
                               saver_.under_way() || mine.save_due || mine.asked || first_save)};
        std::vector<LiveVote> all;
        if (Status gathered = gather(group_, own, all); !gathered.ok()) return gathered;
        for (const LiveVote &each : all) {
            vote.add(each.step);
            votes.push_back(each.live);
        }
    }
    if (!vote.is_of_one_step()) return name_other_step(step);
    agreed = vote.flags();
    return {};
}

// Collective. The failure to report if the ranks are not at one step.
Status StepBoundary::name_other_step(uint64_t step) {
    std::vector<uint64_t> all;
    if (Status gathered = gather(group_, step, all); !gathered.ok()) return gathered;
    size_t rank = 0;
    while (rank + 1 < all.size() && all[rank] == all[0]) ++rank;
    return {RINGRT_MISMATCH,
            format_text("rank %zu is at step %llu, rank 0 at step %llu: call ringrt_step() on all "
                        "ranks after the same steps",
                        rank, static_cast<unsigned long long>(all[rank]),
                        static_cast<unsigned long long>(all[0]))};
}

}  // namespace ringrt
