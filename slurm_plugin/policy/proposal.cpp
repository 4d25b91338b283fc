// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/proposal.h"

#include <algorithm>
#include <limits>

#include "slurm_plugin/policy/growth.h"

namespace ringrt::policy {
namespace {

constexpr Level kTop = std::numeric_limits<Level>::max();
constexpr int kPassings = 16;  // rounds of keeping jobs from passing others; two are rare

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

// First GPUs. A job that finds none keeps those behind it from being served before it; `stuck` is
// one that is known to find no place on the nodes.
std::vector<Level> give_first(const Ladders &ladders, Start start, int stuck, Room &room) {
    std::vector<Level> levels(at(ladders.size()), kWaits);
    bool somebody_waits = false;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const Row &row = ladders.row(rank);
        somebody_waits |= rank == stuck;
        Level level = row.stay;
        if (!row.fixed && (row.now == 0 || start == Start::from_min)) {
            level = 0;
            if (row.now == 0 && (somebody_waits || !room.fits(row.min))) {
                somebody_waits = true;
                level = kWaits;
            }
        }
        room.change(0, ladders.gpus(rank, level));
        levels[at(rank)] = level;
    }
    return levels;
}

// Does a job that waited, at this rank or behind it, get GPUs?
bool is_anybody_served_from(const Ladders &ladders, int rank, const std::vector<Level> &levels) {
    for (; rank != kNobody && rank < ladders.size(); ++rank)
        if (ladders.row(rank).now == 0 && levels[at(rank)] != kWaits) return true;
    return false;
}

double largest_next_gain(const Ladders &ladders, const std::vector<Level> &levels) {
    double largest = 0;
    for (int rank = 0; rank < ladders.size(); ++rank)
        largest = std::max(largest, ladders.best_step(rank, levels[at(rank)], kTop).gain);
    return largest;
}

// Would growth from MIN come to these sizes too, at which growth from the present ones has ended?
// It does where everybody is served and every step on the way up gains more than `refused`, the
// largest next one: those steps are granted first, all of them fit, and no next one does.
bool is_growth_from_min(const Ladders &ladders, const Room &room, const std::vector<Level> &levels,
                        double refused) {
    for (int rank = 0; rank < ladders.size(); ++rank) {
        if (ladders.row(rank).fixed) continue;
        const Level level = levels[at(rank)];
        if (level == kWaits || !room.has_node_for(ladders.gpus(rank, level))) return false;
        for (Level from = 0; from < level;) {
            const Step step = ladders.best_step(rank, from, kTop);
            if (step.to > level || step.gain <= refused) return false;
            from = step.to;
        }
    }
    return true;
}

}  // namespace

bool fits_as_it_is(const Ladders &ladders, const EmptyNodes &nodes) {
    Room room = nodes.room;
    for (int rank = 0; rank < ladders.size(); ++rank)
        room.change(0, ladders.gpus(rank, ladders.row(rank).stay));
    return !room.is_over();
}

std::optional<Proposal> propose(const Ladders &ladders, const EmptyNodes &nodes, Start start,
                                const Proposal *other, double likely) {
    Proposal out;
    const int served = other ? other->worth.served : 0;
    // Who finds no place is not passed by those behind it either: once more, then, without these.
    int stuck = kNobody;
    for (int round = 0; round < kPassings; ++round) {
        Room room = nodes.room;
        out.levels = give_first(ladders, start, stuck, room);
        if (std::ranges::count(out.levels, kWaits) > ladders.size() - served) return std::nullopt;
        const double short_by = grow(ladders, out.levels, room, likely);
        if (stuck == kNobody) out.bound = worth_of(ladders, out.levels).sum + short_by;
        out.wanted = out.levels;
        if (other && out.wanted == other->wanted) return std::nullopt;
        fit_to_nodes(ladders, nodes, out.levels);
        const int dropped = first_dropped(out.wanted, out.levels);
        if (!is_anybody_served_from(ladders, dropped, out.levels)) break;
        stuck = dropped;
    }
    out.worth = worth_of(ladders, out.levels);
    return out;
}

Either propose_either(const Ladders &ladders, const EmptyNodes &nodes) {
    Room room = nodes.room;
    Proposal out{.levels = give_first(ladders, Start::from_present, kNobody, room)};
    grow(ladders, out.levels, room);
    const double refused = largest_next_gain(ladders, out.levels);
    if (!is_growth_from_min(ladders, room, out.levels, refused)) return {.refused = refused};
    out.bound = worth_of(ladders, out.levels).sum + refused * room.free_gpus();
    out.wanted = out.levels;
    fit_to_nodes(ladders, nodes, out.levels);
    if (first_dropped(out.wanted, out.levels) != kNobody) return {.refused = refused};
    out.worth = worth_of(ladders, out.levels);
    return {.proposal = std::move(out)};
}

}  // namespace ringrt::policy
