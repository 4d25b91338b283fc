// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/allotment.h"

#include <algorithm>
#include <limits>

namespace ringrt::policy {
namespace {

// Whether the job would grow if restarts cost nothing. Every rule then prefers the faster size.
bool is_restart_in_the_way(const Job &job, int gpus, const Options &options) {
    if (!(job.weight > 0 && steps_left(job, options) > 0)) return false;
    const Ladder ladder{gpus, job.gpus_max};
    const double now_ms = step_ms(job, gpus);
    for (int to = ladder.next(gpus); to > 0; to = ladder.next(to)) {
        if (step_ms(job, to) < now_ms) return true;
        if (options.gain == GainRule::absolute) break;
    }
    return false;
}

struct Facts {  // of the whole decision
    const Capacity &capacity;
    const Options &options;
    bool present_fits = false;
    int free_gpus = 0;
};

Reason reason_of(const SizeTable &table, int rank, int gpus, const Growth &next,
                 const Facts &facts) {
    const Row &row = table.row(rank);
    if (row.fixed) return Reason::pinned;
    if (gpus == 0) return Reason::waits;
    if (gpus < row.now) {
        const bool overcommitted = table.gpus(rank, row.stay) < row.now;
        return !facts.present_fits || overcommitted ? Reason::gave_to_rigid : Reason::gave_to_other;
    }
    if (gpus > std::max(row.now, row.min)) return Reason::best_gain;
    if (gpus > row.max / 2) return Reason::at_max;
    if (next.to >= 0) {
        const int kept = facts.capacity.kept_for_rigid;
        return kept > 0 && facts.free_gpus + kept >= gpus ? Reason::keeps_for_rigid
                                                          : Reason::no_capacity;
    }
    // The size is at the limit that Slurm reported.
    if (table.gpus(rank, row.top) == gpus) return Reason::no_capacity;
    return is_restart_in_the_way(table.job(rank), gpus, facts.options) ? Reason::restart_cost
                                                                       : Reason::no_gain;
}

Allotment allotment(const SizeTable &table, int rank, Level level, const Facts &facts) {
    const Row &row = table.row(rank);
    const int gpus = table.gpus(rank, level);
    const Growth next = table.best_growth(rank, level, kAnyLevel);
    Allotment out{.job_id = row.id,
                  .gpus = gpus,
                  .reason = reason_of(table, rank, gpus, next, facts),
                  .gain_s_per_gpu = next.gain,
                  .next_gpus = next.to >= 0 ? table.gpus(rank, next.to) : 0};
    if (row.fixed || gpus <= std::max(row.now, row.min)) return out;
    const Level from = std::max(Level{0}, table.level_of(rank, row.now));
    out.gain_s_per_gpu =
        (table.value(rank, level) - table.value(rank, from)) / (gpus - table.gpus(rank, from));
    return out;
}

}  // namespace

std::vector<Allotment> allotments(const SizeTable &table, const std::vector<Level> &levels,
                                  const Capacity &capacity, bool present_fits,
                                  const Options &options) {
    Facts facts{capacity, options, present_fits, total_gpus(capacity)};
    for (int rank = 0; rank < table.size(); ++rank)
        facts.free_gpus -= table.gpus(rank, levels[static_cast<std::size_t>(rank)]);
    std::vector<Allotment> out(levels.size());
    for (int rank = 0; rank < table.size(); ++rank)
        out[static_cast<std::size_t>(table.index(rank))] =
            allotment(table, rank, levels[static_cast<std::size_t>(rank)], facts);
    return out;
}

}  // namespace ringrt::policy
