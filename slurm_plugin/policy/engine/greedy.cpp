// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/greedy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ringrt::policy {
namespace {

constexpr int kFewJobs = 32;   // the heap alone is as fast ...
constexpr int kFewGrants = 8;  // ... also with at most one free GPU per this many jobs

struct Bid {
    double gain = 0;
    int rank = 0;  // breaks ties
    Level to = kWaits;
    bool operator<(const Bid &o) const { return gain != o.gain ? gain < o.gain : rank > o.rank; }
};

std::vector<Edge> all_edges(const SizeTable &table, const std::vector<Level> &levels) {
    std::vector<Edge> edges;
    edges.reserve(4 * levels.size());
    for (int rank = 0; rank < table.size(); ++rank) {
        double least = std::numeric_limits<double>::infinity();
        for (Level at = levels[static_cast<std::size_t>(rank)];;) {
            const Growth growth = table.best_growth(rank, at, kAnyLevel);
            if (growth.to < 0) break;
            least = std::min(least, growth.gain);
            edges.push_back({least, table.gpus(rank, growth.to) - table.gpus(rank, at)});
            at = growth.to;
        }
    }
    return edges;
}

// Moves the elements that satisfy `goes_first` to the front, without a branch: it would be
// mispredicted half of the time.
template <class Predicate>
Edge *partition_branchless(Edge *begin, Edge *end, Predicate goes_first) {
    Edge *middle = begin;
    for (Edge *edge = begin; edge != end; ++edge) {
        const Edge moved = *edge;
        *edge = *middle;
        *middle = moved;
        middle += goes_first(moved);
    }
    return middle;
}

long gpus_of(const Edge *begin, const Edge *end) {
    return std::accumulate(begin, end, 0L, [](long sum, const Edge &e) { return sum + e.gpus; });
}

}  // namespace

double threshold(std::vector<Edge> &edges, long free) {
    Edge *low = edges.data(), *high = low + edges.size();
    double above = std::numeric_limits<double>::infinity();
    while (low < high) {
        const double a = low->gain, b = high[-1].gain, c = low[(high - low) / 2].gain;
        const double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
        Edge *middle =
            partition_branchless(low, high, [pivot](const Edge &e) { return e.gain > pivot; });
        const long larger = gpus_of(low, middle);
        if (larger > free) {
            high = middle;
            continue;
        }
        Edge *rest =
            partition_branchless(middle, high, [pivot](const Edge &e) { return e.gain == pivot; });
        const long equal = gpus_of(middle, rest);
        above = pivot;
        if (larger + equal > free) break;
        free -= larger + equal;
        low = rest;
        if (low == high) above = std::nextafter(pivot, 0.0);
    }
    return above;
}

namespace {

// Grants all growths above this gain if they fit; otherwise grants none.
void grow_at_once(const SizeTable &table, std::vector<Level> &levels, BlockBound &room,
                  double above) {
    std::vector<Level> grown = levels;
    BlockBound after = room;
    for (int rank = 0; rank < table.size(); ++rank) {
        Level &level = grown[static_cast<std::size_t>(rank)];
        const int from = table.gpus(rank, level);
        for (Growth growth; (growth = table.best_growth(rank, level, kAnyLevel)).gain > above;)
            level = growth.to;
        after.change(from, table.gpus(rank, level), table.row(rank).by_parts);
    }
    // On nodes that sizes do not fill, they may not all fit: the heap then grants them one by one.
    if (after.is_over()) return;
    levels = std::move(grown);
    room = after;
}

class Auction {
  public:
    Auction(const SizeTable &table, std::vector<Level> &levels, BlockBound &room)
        : table_(table), levels_(levels), room_(room) {}
    double run();

  private:
    void bid(int rank, Level most);
    [[nodiscard]] Level most_that_fits(int rank) const;
    void sweep();
    void refuse(const Bid &bid);

    const SizeTable &table_;
    std::vector<Level> &levels_;
    BlockBound &room_;
    std::vector<Bid> heap_;
    int swept_at_ = std::numeric_limits<int>::max();  // free GPUs
    bool refused_ = false;
    double short_by_ = 0;
};

void Auction::bid(int rank, Level most) {
    const Growth growth = table_.best_growth(rank, levels_[static_cast<std::size_t>(rank)], most);
    if (growth.to >= 0) heap_.push_back({growth.gain, rank, growth.to});
}

Level Auction::most_that_fits(int rank) const {
    const Level level = levels_[static_cast<std::size_t>(rank)];
    const int most = table_.gpus(rank, level) + room_.free_gpus();
    Level to = level;
    while (to < table_.row(rank).top && table_.gpus(rank, static_cast<Level>(to + 1)) <= most) ++to;
    return to;
}

// Drops all bids that no longer fit; dropping them singly would cost a heap operation each.
void Auction::sweep() {
    swept_at_ = room_.free_gpus();
    std::size_t kept = 0;
    for (const Bid &bid : heap_) {
        const Growth growth =
            table_.best_growth(bid.rank, levels_[static_cast<std::size_t>(bid.rank)],
                               std::min(bid.to, most_that_fits(bid.rank)));
        if (growth.to >= 0) heap_[kept++] = {growth.gain, bid.rank, growth.to};
    }
    heap_.resize(kept);
    std::make_heap(heap_.begin(), heap_.end());
}

void Auction::refuse(const Bid &refused) {
    if (!refused_) short_by_ = refused.gain * room_.free_gpus();
    refused_ = true;
    const auto smaller = static_cast<Level>(refused.to - 1);
    const std::size_t before = heap_.size();
    bid(refused.rank, std::min(smaller, most_that_fits(refused.rank)));
    if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end());
    if (room_.free_gpus() <= swept_at_ / 2) sweep();
}

double Auction::run() {
    heap_.reserve(levels_.size());
    for (int rank = 0; rank < table_.size(); ++rank) bid(rank, kAnyLevel);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty() && room_.free_gpus() > 0) {
        std::pop_heap(heap_.begin(), heap_.end());
        const Bid best = heap_.back();
        heap_.pop_back();
        Level &level = levels_[static_cast<std::size_t>(best.rank)];
        const int from = table_.gpus(best.rank, level), to = table_.gpus(best.rank, best.to);
        const bool by_parts = table_.row(best.rank).by_parts;
        if (!room_.fits(to, from, by_parts)) {
            refuse(best);
            continue;
        }
        room_.change(from, to, by_parts);
        level = best.to;
        if (refused_) short_by_ -= best.gain * (to - from);
        const std::size_t before = heap_.size();
        bid(best.rank, kAnyLevel);
        if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end());
    }
    return std::max(0.0, short_by_);
}

}  // namespace

double grow(const SizeTable &table, std::vector<Level> &levels, BlockBound &room, double likely) {
    if (room.free_gpus() == 0) return 0;
    if (std::isfinite(likely)) grow_at_once(table, levels, room, likely);
    if (table.size() > kFewJobs && room.free_gpus() > table.size() / kFewGrants) {
        std::vector<Edge> edges = all_edges(table, levels);
        grow_at_once(table, levels, room, threshold(edges, room.free_gpus()));
    }
    return Auction(table, levels, room).run();
}

}  // namespace ringrt::policy
