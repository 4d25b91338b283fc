// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/fast_doubling.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "slurm_plugin/policy/engine/allotment.h"
#include "slurm_plugin/policy/engine/fitting.h"
#include "slurm_plugin/policy/engine/greedy.h"
#include "slurm_plugin/policy/engine/improve.h"

namespace ringrt::policy {
namespace {

constexpr double kAnyGain = std::numeric_limits<double>::infinity();

enum class Start : uint8_t { from_min, from_present };

// Gives each job its first GPUs, as give_min() of doubling.cpp does.
std::vector<Level> give_min(const SizeTable &table, Start start, int blocked, BlockBound &room) {
    std::vector<Level> levels(at(table.size()), kWaits);
    bool is_blocked = false;
    for (int rank = 0; rank < table.size(); ++rank) {
        const Row &row = table.row(rank);
        is_blocked |= rank == blocked;
        Level level = row.stay;
        if (!row.fixed && (row.now == 0 || start == Start::from_min)) {
            level = 0;
            if (row.now == 0 && (is_blocked || !room.fits(row.min))) {
                is_blocked = true;
                level = kWaits;
            }
        }
        room.change(0, table.gpus(rank, level), row.by_parts);
        levels[at(rank)] = level;
    }
    return levels;
}

// Returns nothing if the proposal is provably no better than `other`: it serves fewer jobs, or
// wants the same sizes. `likely` is passed to grow().
std::optional<Proposal> propose(const SizeTable &table, const EmptyNodes &nodes, Start start,
                                const Proposal *other = nullptr, double likely = kAnyGain) {
    Proposal out;
    const int served = other ? other->worth.served : 0;
    int blocked = kNone;
    for (int round = 0; round < kRounds; ++round) {
        BlockBound room = nodes.room;
        out.levels = give_min(table, start, blocked, room);
        if (std::ranges::count(out.levels, kWaits) > table.size() - served) return std::nullopt;
        const double short_by = grow(table, out.levels, room, likely);
        if (blocked == kNone) out.bound = worth_of(table, out.levels).sum + short_by;
        out.wanted = out.levels;
        if (other && out.wanted == other->wanted) return std::nullopt;
        fit_to_nodes(table, nodes, out.levels);
        blocked = overtaken(table, out);
        if (blocked == kNone) break;
    }
    out.worth = worth_of(table, out.levels);
    return out;
}

double largest_next_gain(const SizeTable &table, const std::vector<Level> &levels) {
    double largest = 0;
    for (int rank = 0; rank < table.size(); ++rank)
        largest = std::max(largest, table.best_growth(rank, levels[at(rank)], kAnyLevel).gain);
    return largest;
}

// Whether growth from MIN reaches these sizes, at which growth from the present sizes ended. It
// does if every job is served and every growth on the way up gains more than `refused`, the largest
// next gain: those growths are granted first, all of them fit, and no next one does.
bool is_growth_from_min(const SizeTable &table, const BlockBound &room,
                        const std::vector<Level> &levels, double refused) {
    for (int rank = 0; rank < table.size(); ++rank) {
        if (table.row(rank).fixed) continue;
        const Level level = levels[at(rank)];
        const bool by_parts = table.row(rank).by_parts;
        if (level == kWaits || !room.has_node_for(table.gpus(rank, level), by_parts)) return false;
        for (Level from = 0; from < level;) {
            const Growth growth = table.best_growth(rank, from, kAnyLevel);
            if (growth.to > level || growth.gain <= refused) return false;
            from = growth.to;
        }
    }
    return true;
}

// The proposal from the present sizes if it is provably also the one from MIN, in O(n); otherwise
// nothing. `refused` is the largest gain of a growth that found no GPUs.
struct Shortcut {
    std::optional<Proposal> proposal;
    double refused = kAnyGain;
};

Shortcut propose_shortcut(const SizeTable &table, const EmptyNodes &nodes) {
    BlockBound room = nodes.room;
    Proposal out{.levels = give_min(table, Start::from_present, kNone, room)};
    grow(table, out.levels, room);
    const double refused = largest_next_gain(table, out.levels);
    if (!is_growth_from_min(table, room, out.levels, refused)) return {.refused = refused};
    out.bound = worth_of(table, out.levels).sum + refused * room.free_gpus();
    out.wanted = out.levels;
    fit_to_nodes(table, nodes, out.levels);
    if (first_dropped(out.wanted, out.levels) != kNone) return {.refused = refused};
    out.worth = worth_of(table, out.levels);
    return {.proposal = std::move(out)};
}

Proposal best_proposal(const SizeTable &table, const EmptyNodes &nodes, bool may_stay) {
    if (!may_stay) return *propose(table, nodes, Start::from_min);
    Shortcut shortcut = propose_shortcut(table, nodes);
    if (shortcut.proposal) return *std::move(shortcut.proposal);
    Proposal best = *propose(table, nodes, Start::from_min, nullptr, shortcut.refused);
    std::optional<Proposal> from_present = propose(table, nodes, Start::from_present, &best);
    if (!from_present || is_better(best.worth, from_present->worth)) return best;
    from_present->bound = best.bound;  // holds for every decision
    return *std::move(from_present);
}

}  // namespace

std::vector<Allotment> decide_doubling_fast(std::span<const Job> jobs, const Capacity &capacity,
                                            const Options &options) {
    const SizeTable table(jobs, capacity, options);
    const EmptyNodes nodes(capacity);
    const bool present_fits = fits_as_it_is(table, nodes.room);
    Proposal best = best_proposal(table, nodes, present_fits && table.has_running_job());
    if (options.gain != GainRule::absolute)
        improve_with_knapsack(table, capacity, nodes, options, best);
    return allotments(table, best.levels, capacity, present_fits, options);
}

}  // namespace ringrt::policy
