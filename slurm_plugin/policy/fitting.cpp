// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/fitting.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ringrt::policy {
namespace {

constexpr int kRepairs = 4;         // rounds of fitting to nodes before nobody is moved
constexpr int kMostRefilled = 128;  // jobs; of more, what a node's border leaves is a small share
constexpr Level kAnyLevel = std::numeric_limits<Level>::max();

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

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

// The best growth that needs no more than `free` GPUs.
Step step_within(const Ladders &ladders, int rank, Level level, int free) {
    const int now = ladders.gpus(rank, level);
    if (level < 0 || now > free) return {};  // already the next size needs more
    Level most = level;
    while (most < ladders.row(rank).top &&
           ladders.gpus(rank, static_cast<Level>(most + 1)) - now <= free)
        ++most;
    return ladders.best_step(rank, level, most);
}

struct Candidate {
    int rank = 0;
    Step step;
};

// What the nodes' borders left free goes to whoever gains the most from it. Who has no step, or
// finds no place for it, has none later: less will be free, not more.
void refill(const Ladders &ladders, Packing &packing, std::vector<Level> &levels, Places &places) {
    if (packing.free_gpus() == 0) return;
    std::vector<Candidate> candidates;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const Step step = step_within(ladders, rank, levels[at(rank)], packing.free_gpus());
        if (step.to >= 0) candidates.push_back({rank, step});
    }
    while (packing.free_gpus() > 0 && !candidates.empty()) {
        const auto best = std::ranges::max_element(
            candidates, {}, [](const Candidate &candidate) { return candidate.step.gain; });
        const int free = packing.free_gpus();
        if (!grow_in_place(ladders, best->rank, packing, levels[at(best->rank)],
                           places[at(best->rank)]))
            candidates.erase(best);
        if (packing.free_gpus() == free) continue;
        for (Candidate &left : candidates)
            left.step = step_within(ladders, left.rank, levels[at(left.rank)], packing.free_gpus());
        std::erase_if(candidates, [](const Candidate &left) { return left.step.to < 0; });
    }
}

// Of a running job that keeps its size or gives some back: what it holds then of its own place.
void take_own(std::span<const NodeShare> held, int gpus, Packing &packing) {
    for (const auto &[node, share] : held) {
        if (gpus <= 0) return;
        const NodeShare kept{node, std::min(share, gpus)};
        packing.take({&kept, 1});
        gpus -= share;
    }
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

// Fits by rounds in which those who find no place at their new size stay as they are. False: in
// vain.
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

}  // namespace

int first_dropped(const std::vector<Level> &wanted, const std::vector<Level> &levels) {
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (levels[i] == kWaits && wanted[i] != kWaits) return static_cast<int>(i);
    return kNobody;
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

void fit_to_nodes(const Ladders &ladders, const EmptyNodes &nodes, std::vector<Level> &levels) {
    std::vector<Level> settled = levels;
    const bool repaired = repair(ladders, nodes, levels);
    if (repaired && first_dropped(settled, levels) == kNobody) return;
    settle(ladders, nodes, settled);
    if (!repaired || is_better(worth_of(ladders, settled), worth_of(ladders, levels)))
        levels = std::move(settled);
}

}  // namespace ringrt::policy
