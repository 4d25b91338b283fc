// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/proposal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurm_plugin/policy/growth.h"

namespace ringrt::policy {
namespace {

constexpr int kRepairs = 4;  // rounds of fitting to nodes before nobody is moved
constexpr int kMostRefilled = 128;  // jobs; of more, what a node's border leaves is a small share
constexpr int kPassings = 16;  // rounds of keeping jobs from passing others; two are rare
constexpr int kNobody = -1;
constexpr Level kAnyLevel = std::numeric_limits<Level>::max();

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

bool keeps_its_place(const Ladders &ladders, int rank, Level level) {
    const Row &row = ladders.row(rank);
    return row.now > 0 && ladders.gpus(rank, level) == row.now;
}

// A key that sorts by size, the largest first, and by rank among equals.
uint64_t by_size(int gpus, int rank) {
    return uint64_t(~static_cast<uint32_t>(gpus)) << 32 | static_cast<uint32_t>(rank);
}

int rank_of(uint64_t key) { return static_cast<int>(key & 0xffffffff); }

// The jobs that need a place, the largest first.
std::vector<int> jobs_to_place(const Ladders &ladders, const std::vector<Level> &levels,
                               Packing &packing) {
    std::vector<uint64_t> keys;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const int gpus = ladders.gpus(rank, levels[at(rank)]);
        if (gpus == 0) continue;
        const Row &row = ladders.row(rank);
        if (gpus == row.now && !ladders.held(rank).empty())
            packing.take(ladders.held(rank));
        else
            keys.push_back(by_size(gpus, rank));
    }
    std::sort(keys.begin(), keys.end());
    std::vector<int> ranks(keys.size());
    std::transform(keys.begin(), keys.end(), ranks.begin(), rank_of);
    return ranks;
}

using Places = std::vector<std::vector<NodeShare>>;  // by rank, of those that were given one

// Returns the jobs that must rather stay at their present size.
std::vector<int> place_all(const Ladders &ladders, Packing &packing, std::vector<Level> &levels,
                           Places &places) {
    std::vector<int> stay;
    for (const int rank : jobs_to_place(ladders, levels, packing)) {
        const Row &row = ladders.row(rank);
        Level &level = levels[at(rank)];
        std::vector<NodeShare> *place = places.empty() ? nullptr : &places[at(rank)];
        if (packing.place(ladders.gpus(rank, level), place) ||
            keeps_its_place(ladders, rank, level))
            continue;
        do --level;
        while (level >= 0 && !keeps_its_place(ladders, rank, level) &&
               !packing.place(ladders.gpus(rank, level), place));
        if (row.now > 0 && (level < 0 || keeps_its_place(ladders, rank, level)))
            stay.push_back(rank);
    }
    return stay;
}

// One job to its best larger level that finds a place; false: none does.
bool grow_in_place(const Ladders &ladders, int rank, Packing &packing, Level &level,
                   std::vector<NodeShare> &place) {
    const std::vector<NodeShare> own = place;
    const std::span<const NodeShare> before =
        keeps_its_place(ladders, rank, level) ? ladders.held(rank) : std::span(own);
    if (before.empty()) return false;
    packing.give(before);
    for (Level most = kAnyLevel;;) {
        const Step step = ladders.best_step(rank, level, most);
        if (step.to < 0) break;
        std::vector<NodeShare> found;
        if (packing.place(ladders.gpus(rank, step.to), &found)) {
            level = step.to;
            place = std::move(found);
            return true;
        }
        most = static_cast<Level>(step.to - 1);
    }
    packing.take(before);
    return false;
}

Level most_within(const Ladders &ladders, int rank, Level level, int gpus) {
    while (level < ladders.row(rank).top && ladders.gpus(rank, static_cast<Level>(level + 1)) <= gpus)
        ++level;
    return level;
}

// What the nodes' borders left free goes to whoever gains the most from it.
void refill(const Ladders &ladders, Packing &packing, std::vector<Level> &levels, Places &places) {
    std::vector<char> tried(at(ladders.size()), 0);
    while (packing.free_gpus() > 0) {
        int best = -1;
        double gain = 0;
        for (int rank = 0; rank < ladders.size(); ++rank) {
            if (tried[at(rank)]) continue;
            const Level level = levels[at(rank)];
            const Level most = most_within(ladders, rank, level,
                                           ladders.gpus(rank, level) + packing.free_gpus());
            const Step step = ladders.best_step(rank, level, most);
            if (step.to < 0) tried[at(rank)] = 1;  // less will be free, not more
            if (step.gain <= gain) continue;
            best = rank;
            gain = step.gain;
        }
        if (best < 0) return;
        tried[at(best)] =
            !grow_in_place(ladders, best, packing, levels[at(best)], places[at(best)]);
    }
}

// Of a running job that keeps its size or gives some back: what it holds then of its own place.
void take_own(std::span<const NodeShare> held, int gpus, Packing &packing) {
    std::vector<NodeShare> kept;
    for (const auto &[node, share] : held) {
        if (gpus <= 0) break;
        kept.push_back({node, std::min(share, gpus)});
        gpus -= share;
    }
    packing.take(kept);
}

// Places everybody without a failure: all who run keep their places or parts of them, and leave
// them only for a larger one that is free. So those who wait are served from what others give back,
// however broken up the nodes are.
void settle(const Ladders &ladders, const EmptyNodes &nodes, std::vector<Level> &levels) {
    Packing packing = nodes.packing;
    std::vector<uint64_t> to_place;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const int gpus = ladders.gpus(rank, levels[at(rank)]), now = ladders.row(rank).now;
        take_own(ladders.held(rank), std::min(gpus, now), packing);
        if (gpus > now) to_place.push_back(by_size(gpus, rank));
    }
    std::sort(to_place.begin(), to_place.end());
    for (const uint64_t key : to_place) {
        const int rank = rank_of(key);
        const std::span<const NodeShare> held = ladders.held(rank);
        Level &level = levels[at(rank)];
        packing.give(held);
        while (level >= 0 && !keeps_its_place(ladders, rank, level) &&
               !packing.place(ladders.gpus(rank, level)))
            --level;
        if (keeps_its_place(ladders, rank, level)) packing.take(held);
    }
}

// Fits by rounds in which those who find no place at their new size stay as they are. False: in vain.
bool repair(const Ladders &ladders, const EmptyNodes &nodes, std::vector<Level> &levels) {
    const bool refills = ladders.size() <= kMostRefilled;
    for (int round = 0; round < kRepairs; ++round) {
        Packing packing = nodes.packing;
        Places places(refills ? levels.size() : 0);
        const std::vector<int> stay = place_all(ladders, packing, levels, places);
        if (stay.empty() && refills) refill(ladders, packing, levels, places);
        for (const int rank : stay) {
            const Row &row = ladders.row(rank);
            Level level = 0;
            while (ladders.gpus(rank, level) < row.now) ++level;
            levels[at(rank)] = level;
        }
        if (stay.empty()) return true;
    }
    return false;
}

// The first job that was given GPUs and found no place for them; kNobody: none.
int first_dropped(const std::vector<Level> &wanted, const std::vector<Level> &levels) {
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (levels[i] == kWaits && wanted[i] != kWaits) return static_cast<int>(i);
    return kNobody;
}

// Does a job that waited, at this rank or behind it, get GPUs?
bool is_anybody_served_from(const Ladders &ladders, int rank,
                            const std::vector<Level> &levels) {
    for (; rank != kNobody && rank < ladders.size(); ++rank)
        if (ladders.row(rank).now == 0 && levels[at(rank)] != kWaits) return true;
    return false;
}

}  // namespace

void fit_to_nodes(const Ladders &ladders, const EmptyNodes &nodes, std::vector<Level> &levels) {
    std::vector<Level> settled = levels;
    const bool repaired = repair(ladders, nodes, levels);
    if (repaired && first_dropped(settled, levels) == kNobody) return;
    settle(ladders, nodes, settled);
    if (!repaired || is_better(worth_of(ladders, settled), worth_of(ladders, levels)))
        levels = std::move(settled);
}

ProposalWorth worth_of(const Ladders &ladders, const std::vector<Level> &levels) {
    ProposalWorth out;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        if (ladders.gpus(rank, levels[at(rank)]) == 0) continue;
        ++out.served;
        out.sum += ladders.value(rank, levels[at(rank)]);
    }
    return out;
}

bool is_better(const ProposalWorth &a, const ProposalWorth &b) {
    if (a.served != b.served) return a.served > b.served;
    return a.sum > b.sum + 1e-9 * std::abs(b.sum);
}

bool fits_as_it_is(const Ladders &ladders, const EmptyNodes &nodes) {
    Room room = nodes.room;
    for (int rank = 0; rank < ladders.size(); ++rank)
        room.change(0, ladders.gpus(rank, ladders.row(rank).stay));
    return !room.is_over();
}

std::optional<Proposal> propose(const Ladders &ladders, const EmptyNodes &nodes, Start start,
                                const Proposal *other) {
    Proposal out;
    const int served = other ? other->worth.served : 0;
    // Who finds no place is not passed by those behind it either: once more, then, without these.
    int stuck = kNobody;
    for (int round = 0; round < kPassings; ++round) {
        Room room = nodes.room;
        out.levels = give_first(ladders, start, stuck, room);
        if (std::ranges::count(out.levels, kWaits) > ladders.size() - served) return std::nullopt;
        const double short_by = grow(ladders, out.levels, room);
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

}  // namespace ringrt::policy
