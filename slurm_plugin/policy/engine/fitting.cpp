// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/fitting.h"

#include <algorithm>
#include <limits>

namespace ringrt::policy {
namespace {

constexpr int kRetries = 4;         // fitting rounds before falling back to moving no job
constexpr int kMostRefilled = 128;  // jobs; with more, node borders leave only a small share

bool keeps_its_place(const SizeTable &table, int rank, Level level) {
    const Row &row = table.row(rank);
    return row.now > 0 && table.gpus(rank, level) == row.now;
}

// A key that sorts by size, the largest first, then by rank.
uint64_t by_size(int gpus, int rank) {
    return uint64_t(~static_cast<uint32_t>(gpus)) << 32 | static_cast<uint32_t>(rank);
}

int rank_of(uint64_t key) { return static_cast<int>(key & 0xffffffff); }

// Places one job at a level. For a job `by_parts`, places only its growth, one part per doubling.
bool place_at(const SizeTable &table, int rank, Level level, Packing &packing,
              std::vector<NodeShare> *where = nullptr) {
    const Row &row = table.row(rank);
    const int gpus = table.gpus(rank, level);
    return row.by_parts ? packing.place_doublings(row.now, gpus, where)
                        : packing.place(gpus, where);
}

// For a running job that keeps its size or shrinks: occupies what it keeps of its own place.
void occupy_part(std::span<const NodeShare> held, int gpus, Packing &packing) {
    for (const auto &[node, share] : held) {
        if (gpus <= 0) return;
        const NodeShare kept{node, std::min(share, gpus)};
        packing.occupy({&kept, 1});
        gpus -= share;
    }
}

// The jobs that need a place, the largest first.
std::vector<int> jobs_to_place(const SizeTable &table, const std::vector<Level> &levels,
                               Packing &packing) {
    std::vector<uint64_t> keys;
    for (int rank = 0; rank < table.size(); ++rank) {
        const int gpus = table.gpus(rank, levels[at(rank)]);
        if (gpus == 0) continue;
        const Row &row = table.row(rank);
        const std::span<const NodeShare> held = table.held(rank);
        if (row.by_parts) occupy_part(held, std::min(gpus, row.now), packing);
        if (row.by_parts && gpus <= row.now) continue;
        if (gpus == row.now && !held.empty())
            packing.occupy(held);
        else
            keys.push_back(by_size(gpus, rank));
    }
    std::sort(keys.begin(), keys.end());
    std::vector<int> ranks(keys.size());
    std::transform(keys.begin(), keys.end(), ranks.begin(), rank_of);
    return ranks;
}

using Places = std::vector<std::vector<NodeShare>>;  // by rank, of the jobs that were placed

// Returns the jobs that must keep their present size instead.
std::vector<int> place_all(const SizeTable &table, Packing &packing, std::vector<Level> &levels,
                           Places &places) {
    std::vector<int> stay;
    for (const int rank : jobs_to_place(table, levels, packing)) {
        const Row &row = table.row(rank);
        Level &level = levels[at(rank)];
        std::vector<NodeShare> *place = places.empty() ? nullptr : &places[at(rank)];
        if (place_at(table, rank, level, packing, place) || keeps_its_place(table, rank, level))
            continue;
        do --level;
        while (level >= 0 && !keeps_its_place(table, rank, level) &&
               !place_at(table, rank, level, packing, place));
        if (row.now > 0 && (level < 0 || keeps_its_place(table, rank, level))) stay.push_back(rank);
    }
    return stay;
}

// Grows one job to its best larger level that finds a place; false: none does.
bool grow_in_place(const SizeTable &table, int rank, Packing &packing, Level &level,
                   std::vector<NodeShare> &place) {
    const std::vector<NodeShare> own = place;
    const std::span<const NodeShare> before =
        keeps_its_place(table, rank, level) ? table.held(rank) : std::span(own);
    const bool by_parts = table.row(rank).by_parts;
    const bool is_back = by_parts && table.gpus(rank, level) < table.row(rank).now;
    if (is_back || (before.empty() && !by_parts)) return false;
    const bool leaves = !by_parts || !own.empty();
    if (leaves) packing.release(before);
    for (Level most = kAnyLevel;;) {
        const Growth growth = table.best_growth(rank, level, most);
        if (growth.to < 0) break;
        std::vector<NodeShare> found;
        if (place_at(table, rank, growth.to, packing, &found)) {
            level = growth.to;
            place = std::move(found);
            return true;
        }
        most = static_cast<Level>(growth.to - 1);
    }
    if (leaves) packing.occupy(before);
    return false;
}

// The best growth that needs at most `free` GPUs.
Growth growth_within(const SizeTable &table, int rank, Level level, int free) {
    const int now = table.gpus(rank, level);
    if (level < 0 || now > free) return {};  // the next size already needs more
    Level most = level;
    while (most < table.row(rank).top &&
           table.gpus(rank, static_cast<Level>(most + 1)) - now <= free)
        ++most;
    return table.best_growth(rank, level, most);
}

struct Candidate {
    int rank = 0;
    Growth growth;
};

// GPUs that node borders left free go to the job that gains the most. A job that has no growth, or
// finds no place for it, is dropped: the number of free GPUs only falls.
void fill_leftovers(const SizeTable &table, Packing &packing, std::vector<Level> &levels,
                    Places &places) {
    if (packing.free_gpus() == 0) return;
    std::vector<Candidate> candidates;
    for (int rank = 0; rank < table.size(); ++rank) {
        const Growth growth = growth_within(table, rank, levels[at(rank)], packing.free_gpus());
        if (growth.to >= 0) candidates.push_back({rank, growth});
    }
    while (packing.free_gpus() > 0 && !candidates.empty()) {
        const auto best = std::ranges::max_element(
            candidates, {}, [](const Candidate &candidate) { return candidate.growth.gain; });
        const int free = packing.free_gpus();
        if (!grow_in_place(table, best->rank, packing, levels[at(best->rank)],
                           places[at(best->rank)]))
            candidates.erase(best);
        if (packing.free_gpus() == free) continue;
        for (Candidate &left : candidates)
            left.growth =
                growth_within(table, left.rank, levels[at(left.rank)], packing.free_gpus());
        std::erase_if(candidates, [](const Candidate &left) { return left.growth.to < 0; });
    }
}

// Places all jobs without failure: running jobs keep their places or parts of them, and leave them
// only for a larger place that is free. So pending jobs are served from what other jobs return,
// however fragmented the nodes are.
void place_keeping_running(const SizeTable &table, const EmptyNodes &nodes,
                           std::vector<Level> &levels) {
    Packing packing = nodes.packing;
    std::vector<uint64_t> to_place;
    for (int rank = 0; rank < table.size(); ++rank) {
        const int gpus = table.gpus(rank, levels[at(rank)]), now = table.row(rank).now;
        occupy_part(table.held(rank), std::min(gpus, now), packing);
        if (gpus > now) to_place.push_back(by_size(gpus, rank));
    }
    std::sort(to_place.begin(), to_place.end());
    for (const uint64_t key : to_place) {
        const int rank = rank_of(key);
        const std::span<const NodeShare> held = table.held(rank);
        Level &level = levels[at(rank)];
        const bool moves = !table.row(rank).by_parts;
        if (moves) packing.release(held);
        while (level >= 0 && !keeps_its_place(table, rank, level) &&
               !place_at(table, rank, level, packing))
            --level;
        if (moves && keeps_its_place(table, rank, level)) packing.occupy(held);
    }
}

// Fits in rounds: a job that finds no place at its new size keeps its present size in the next
// round. Returns false if no round succeeds.
bool place_with_retries(const SizeTable &table, const EmptyNodes &nodes,
                        std::vector<Level> &levels) {
    const bool refills = table.size() <= kMostRefilled;
    for (int round = 0; round < kRetries; ++round) {
        Packing packing = nodes.packing;
        Places places(refills ? levels.size() : 0);
        const std::vector<int> stay = place_all(table, packing, levels, places);
        if (stay.empty() && refills) fill_leftovers(table, packing, levels, places);
        for (const int rank : stay)
            levels[at(rank)] =
                std::min(table.level_of(rank, table.row(rank).now), table.row(rank).top);
        if (stay.empty()) return true;
    }
    return false;
}

}  // namespace

int first_dropped(const std::vector<Level> &wanted, const std::vector<Level> &levels) {
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (levels[i] == kWaits && wanted[i] != kWaits) return static_cast<int>(i);
    return kNone;
}

void fit_to_nodes(const SizeTable &table, const EmptyNodes &nodes, std::vector<Level> &levels) {
    std::vector<Level> settled = levels;
    const bool repaired = place_with_retries(table, nodes, levels);
    if (repaired && first_dropped(settled, levels) == kNone) return;
    place_keeping_running(table, nodes, settled);
    if (!repaired || is_better(worth_of(table, settled), worth_of(table, levels)))
        levels = std::move(settled);
}

}  // namespace ringrt::policy
