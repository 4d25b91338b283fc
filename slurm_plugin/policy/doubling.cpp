// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/doubling.h"

#include <algorithm>
#include <limits>

#include "slurm_plugin/policy/exchange.h"
#include "slurm_plugin/policy/growth.h"
#include "slurm_plugin/policy/ladder.h"
#include "slurm_plugin/policy/proposal.h"

namespace ringrt::policy {

namespace {

constexpr Level kAnyLevel = std::numeric_limits<Level>::max();

// Would the next step be taken if restarts cost nothing? Every rule then wants what is faster.
bool is_restart_in_the_way(const Job &job, int gpus, const Options &options) {
    if (!(job.weight > 0 && steps_left(job, options) > 0)) return false;
    const double now_ms = step_ms(job, gpus);
    const int most =
        std::min(options.gain == GainRule::absolute ? 2 * gpus : job.gpus_max, job.gpus_max);
    for (int to = 2 * gpus; to <= most; to *= 2) {
        if (step_ms(job, to) < now_ms) return true;
        if (to > kAnySize / 2) break;
    }
    return false;
}

struct Facts {  // of the whole decision
    bool rigid_took = false;
    int free_gpus = 0;
};

Reason reason_of(const Ladders &ladders, int rank, int gpus, const Step &next, const Facts &facts,
                 const Capacity &capacity, const Options &options) {
    const Row &row = ladders.row(rank);
    if (row.fixed) return Reason::pinned;
    if (gpus == 0) return Reason::waits;
    if (gpus < row.now) {
        const bool crowded = ladders.gpus(rank, row.stay) < row.now;
        return facts.rigid_took || crowded ? Reason::gave_to_rigid : Reason::gave_to_other;
    }
    if (gpus > row.max / 2) return Reason::at_max;
    if (gpus > std::max(row.now, row.min)) return Reason::best_gain;
    if (next.to >= 0) {
        const bool rigid_would_do =
            capacity.kept_for_rigid > 0 && facts.free_gpus + capacity.kept_for_rigid >= gpus;
        return rigid_would_do ? Reason::keeps_for_rigid : Reason::no_capacity;
    }
    if (ladders.gpus(rank, row.top) == gpus) return Reason::no_capacity;  // as Slurm has found
    return is_restart_in_the_way(ladders.job(rank), gpus, options) ? Reason::restart_cost
                                                                   : Reason::no_gain;
}

Allotment allotment(const Ladders &ladders, int rank, Level level, const Facts &facts,
                    const Capacity &capacity, const Options &options) {
    const Row &row = ladders.row(rank);
    const int gpus = ladders.gpus(rank, level);
    const Step next = ladders.best_step(rank, level, kAnyLevel);
    Allotment out{.job_id = row.id,
                  .gpus = gpus,
                  .reason = reason_of(ladders, rank, gpus, next, facts, capacity, options),
                  .gain_s_per_gpu = next.gain,
                  .next_gpus = next.to >= 0 ? ladders.gpus(rank, next.to) : 0};
    if (row.fixed || gpus <= std::max(row.now, row.min)) return out;
    Level from = 0;
    while (ladders.gpus(rank, from) < row.now) ++from;
    out.gain_s_per_gpu = (ladders.value(rank, level) - ladders.value(rank, from)) /
                         (gpus - ladders.gpus(rank, from));
    return out;
}

Proposal best_proposal(const Ladders &ladders, const EmptyNodes &nodes, bool may_stay) {
    if (!may_stay) return *propose(ladders, nodes, Start::from_min);
    Either either = propose_either(ladders, nodes);
    if (either.proposal) return *std::move(either.proposal);
    Proposal best = *propose(ladders, nodes, Start::from_min, nullptr, either.refused);
    std::optional<Proposal> calm = propose(ladders, nodes, Start::from_present, &best);
    if (!calm || is_better(best.worth, calm->worth)) return best;
    calm->bound = best.bound;  // holds for every decision
    return *std::move(calm);
}

}  // namespace

std::vector<Allotment> decide_doubling(std::span<const Job> jobs, const Capacity &capacity,
                                       const Options &options) {
    const Ladders ladders(jobs, capacity, options);
    const EmptyNodes nodes(capacity);
    const bool present_fits = fits_as_it_is(ladders, nodes);
    Proposal best = best_proposal(ladders, nodes, present_fits && ladders.anybody_runs());
    if (options.gain != GainRule::absolute) exchange(ladders, capacity, nodes, options, best);
    Facts facts{.rigid_took = !present_fits, .free_gpus = nodes.room.free_gpus()};
    for (int rank = 0; rank < ladders.size(); ++rank)
        facts.free_gpus -= ladders.gpus(rank, best.levels[static_cast<std::size_t>(rank)]);
    std::vector<Allotment> out(jobs.size());
    for (int rank = 0; rank < ladders.size(); ++rank)
        out[static_cast<std::size_t>(ladders.index(rank))] = allotment(
            ladders, rank, best.levels[static_cast<std::size_t>(rank)], facts, capacity, options);
    return out;
}

}  // namespace ringrt::policy
