// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/proposal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurm_plugin/policy/growth.h"

namespace ringrt::policy {
namespace {

constexpr int kRepairs = 4;  // rounds of fitting to nodes before all jobs stay where they are
constexpr int kMostRefilled = 128;  // jobs; of more, what a node's border leaves is a small share
constexpr Level kAnyLevel = std::numeric_limits<Level>::max();

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

// First GPUs. A job that finds none keeps those behind it from being served before it.
std::vector<Level> give_first(const Ladders &ladders, Start start, Room &room) {
    std::vector<Level> levels(at(ladders.size()), kWaits);
    bool somebody_waits = false;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const Row &row = ladders.row(rank);
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

// The jobs that need a place, the largest first, by rank among equals.
std::vector<int> jobs_to_place(const Ladders &ladders, const std::vector<Level> &levels,
                               Packing &packing) {
    std::vector<uint64_t> keys;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const int gpus = ladders.gpus(rank, levels[at(rank)]);
        if (gpus == 0) continue;
        const Row &row = ladders.row(rank);
        if (gpus == row.now && !ladders.job(rank).held.empty())
            packing.take(ladders.job(rank).held);
        else
            keys.push_back(uint64_t(~static_cast<uint32_t>(gpus)) << 32 |
                           static_cast<uint32_t>(rank));
    }
    std::sort(keys.begin(), keys.end());
    std::vector<int> ranks(keys.size());
    std::transform(keys.begin(), keys.end(), ranks.begin(),
                   [](uint64_t key) { return static_cast<int>(key & 0xffffffff); });
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
    const std::vector<NodeShare> before =
        keeps_its_place(ladders, rank, level) ? ladders.job(rank).held : place;
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

// What the nodes' borders left free goes to whoever gains the most from it.
void refill(const Ladders &ladders, Packing &packing, std::vector<Level> &levels, Places &places) {
    std::vector<char> tried(at(ladders.size()), 0);
    while (packing.free_gpus() > 0) {
        int best = -1;
        double gain = 0;
        for (int rank = 0; rank < ladders.size(); ++rank) {
            if (tried[at(rank)]) continue;
            const Step step = ladders.best_step(rank, levels[at(rank)], kAnyLevel);
            if (step.gain <= gain) continue;
            best = rank;
            gain = step.gain;
        }
        if (best < 0) return;
        tried[at(best)] =
            !grow_in_place(ladders, best, packing, levels[at(best)], places[at(best)]);
    }
}

}  // namespace

void fit_to_nodes(const Ladders &ladders, const Capacity &capacity, std::vector<Level> &levels) {
    const bool refills = ladders.size() <= kMostRefilled;
    for (int round = 0; round < kRepairs; ++round) {
        Packing packing(capacity);
        Places places(refills ? levels.size() : 0);
        const std::vector<int> stay = place_all(ladders, packing, levels, places);
        if (stay.empty() && refills) refill(ladders, packing, levels, places);
        for (const int rank : stay) {
            const Row &row = ladders.row(rank);
            Level level = 0;
            while (ladders.gpus(rank, level) < row.now) ++level;
            levels[at(rank)] = level;
        }
        if (stay.empty()) return;
    }
    for (int rank = 0; rank < ladders.size(); ++rank) levels[at(rank)] = ladders.row(rank).stay;
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

bool fits_as_it_is(const Ladders &ladders, const Capacity &capacity) {
    Room room(capacity);
    for (int rank = 0; rank < ladders.size(); ++rank)
        room.change(0, ladders.gpus(rank, ladders.row(rank).stay));
    return !room.is_over();
}

Proposal propose(const Ladders &ladders, const Capacity &capacity, Start start) {
    Room room(capacity);
    Proposal out{.levels = give_first(ladders, start, room), .worth = {}};
    const double short_by = grow(ladders, out.levels, room);
    out.bound = worth_of(ladders, out.levels).sum + short_by;
    fit_to_nodes(ladders, capacity, out.levels);
    out.worth = worth_of(ladders, out.levels);
    return out;
}

}  // namespace ringrt::policy
