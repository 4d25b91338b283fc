// SPDX-License-Identifier: BSD-3-Clause
// The doubling heuristic.
//
// Tim Capes, Vishal Raheja, Mete Kemertas, Iqbal Mohomed: Dynamic Scheduling of MPI-based
// Distributed Deep Learning Training Jobs, arXiv 1908.08082, 2019: the "doubling heuristic" for its
// integer program min Σ Q/f(w), Σ w <= GPUs. Every job gets one GPU in order of arrival while GPUs
// last. Then the job with the largest gain is doubled, repeatedly, while one fits and gains:
//
//   gain = (Q/f(w) − Q/f(2w)) / w     Q: steps left, w: its GPUs, f: steps per second on them
//
// Differences from the paper:
//   - A job starts with MIN GPUs and never runs on fewer. Priority comes before arrival.
//   - value.h defines what a size is worth; the paper's −Q/f(w) is GainRule::absolute. A growth
//     must pay for its restart. The other rules look beyond the next doubling.
//   - Sizes must fit the nodes. No pending job overtakes a job that found no nodes.
//   - There are two proposals: one grows from MIN, the other from the present sizes. The first is
//     taken only if it serves more jobs or has a higher value. So every change pays for its
//     restarts, and a decision that was carried out is repeated by the next pass.
//   - For few jobs, the exact optimum is taken if it is worth more (not under the paper's rule).
#include "slurm_plugin/policy/doubling.h"

#include <algorithm>

#include "slurm_plugin/policy/engine/allotment.h"
#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/engine/fitting.h"
#include "slurm_plugin/policy/engine/improve.h"
#include "slurm_plugin/policy/pausing.h"

namespace ringrt::policy {
namespace {
enum class Start : uint8_t { from_min, from_present };

// Gives each job its first GPUs, in rank order (size_table.h). Once a pending job gets none, or is
// known to get no nodes (`blocked`), no pending job after it is served.
std::vector<Level> give_min(const SizeTable &table, Start start, int blocked, BlockBound &room) {
    std::vector<Level> levels;
    bool is_blocked = false;
    for (int rank = 0; rank < table.size(); ++rank) {
        const Row &job = table.row(rank);
        const bool waits = job.now == 0 && !job.fixed;
        is_blocked |= rank == blocked || (waits && !room.fits(job.min));
        const bool stays = job.fixed || (start == Start::from_present && !waits);
        const Level level = waits && is_blocked ? kWaits : stays ? job.stay : Level{0};
        room.change(0, table.gpus(rank, level), job.by_parts);
        levels.push_back(level);
    }
    return levels;
}

// The growth with the most value per added GPU, up to level `most`; compared without division.
Growth best_growth(const SizeTable &table, int rank, Level from, Level most, GainRule rule) {
    if (from == kWaits) return {};
    Growth best;
    if (rule == GainRule::absolute) most = std::min(most, static_cast<Level>(from + 1));
    double best_more = 0, best_added = 1;
    for (auto to = static_cast<Level>(from + 1); to <= most; ++to) {
        const double more = table.value(rank, to) - table.value(rank, from);
        const double added = table.gpus(rank, to) - table.gpus(rank, from);
        if (more * best_added <= best_more * added) continue;
        best_more = more;
        best_added = added;
        best = {.gain = more / added, .to = to};
    }
    return best;
}

// Grows the job that gains the most, while it fits. Returns the largest possible shortfall from the
// optimum (the first refused gain times the GPUs then free, minus later grants: Dantzig 1957).
double grow(const SizeTable &table, std::vector<Level> &levels, BlockBound &room, GainRule rule) {
    std::vector<Level> most;  // lowered below a size that was refused
    for (int rank = 0; rank < table.size(); ++rank) most.push_back(table.row(rank).top);
    double short_by = 0;
    bool refused = false;
    while (room.free_gpus() > 0) {
        Growth best;
        std::size_t who = 0;
        for (std::size_t i = 0; i < levels.size(); ++i) {
            const Growth growth = best_growth(table, static_cast<int>(i), levels[i], most[i], rule);
            if (growth.gain > best.gain) best = growth, who = i;
        }
        if (best.to == kWaits) break;
        const int rank = static_cast<int>(who);
        const int from = table.gpus(rank, levels[who]), to = table.gpus(rank, best.to);
        if (room.fits(to, from, table.row(rank).by_parts)) {
            room.change(from, to, table.row(rank).by_parts);
            levels[who] = best.to;
            short_by -= refused ? best.gain * (to - from) : 0;
        } else {
            if (!refused) short_by = best.gain * room.free_gpus();
            refused = true;
            most[who] = static_cast<Level>(best.to - 1);
        }
    }
    return std::max(0.0, short_by);
}

Proposal propose(const SizeTable &table, const EmptyNodes &nodes, Start start, GainRule rule) {
    Proposal out;
    for (int round = 0, blocked = kNone; round < kRounds; ++round) {
        BlockBound room = nodes.room;
        out.levels = give_min(table, start, blocked, room);
        const double short_by = grow(table, out.levels, room, rule);
        if (round == 0) out.bound = worth_of(table, out.levels).sum + short_by;
        out.wanted = out.levels;
        fit_to_nodes(table, nodes, out.levels);
        blocked = overtaken(table, out);
        if (blocked == kNone) break;
    }
    out.worth = worth_of(table, out.levels);
    return out;
}

constexpr Policy kPolicies[] = {
    {"doubling", decide_doubling_and_pause, "the default: doubling-short-first", kValueParams,
     GainRule::short_first},
    {"doubling-absolute", decide_doubling_fast,
     "double the job that saves the most seconds per GPU (arXiv 1908.08082)", kValueParams},
    {"doubling-relative", decide_doubling_and_pause,
     "grow the job that gains the most speed-up per GPU; needs no remaining time", kValueParams,
     GainRule::relative},
    {"doubling-short-first", decide_doubling_and_pause,
     "the most speed-up per GPU, short jobs somewhat before long ones", kValueParams,
     GainRule::short_first},
    {"doubling-hull", decide_doubling_fast,
     "absolute over any 2^k at once: escapes a doubling that loses", kValueParams, GainRule::hull},
};

}  // namespace

std::vector<Allotment> decide_doubling(std::span<const Job> jobs, const Capacity &capacity,
                                       const Options &options) {
    const SizeTable table(jobs, capacity, options);
    const EmptyNodes nodes(capacity);
    const bool present_fits = fits_as_it_is(table, nodes.room);
    Proposal best = propose(table, nodes, Start::from_min, options.gain);
    if (present_fits && table.has_running_job()) {
        Proposal from_present = propose(table, nodes, Start::from_present, options.gain);
        from_present.bound = best.bound;  // holds for every decision
        if (!is_better(best.worth, from_present.worth)) best = from_present;
    }
    if (options.gain != GainRule::absolute)
        improve_with_knapsack(table, capacity, nodes, options, best);
    return allotments(table, best.levels, capacity, present_fits, options);
}

extern const PolicyList doubling_policies;  // for policies.mk
const PolicyList doubling_policies{kPolicies};

}  // namespace ringrt::policy
