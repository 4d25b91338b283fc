// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/growth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ringrt::policy {
namespace {

constexpr Level kTop = std::numeric_limits<Level>::max();
constexpr int kFewJobs = 32;   // the heap alone is as fast ...
constexpr int kFewGrants = 8;  // ... and where no more GPUs are free than one for so many jobs

struct Bid {
    double gain = 0;
    int rank = 0;  // settles ties
    Level to = kWaits;
    bool operator<(const Bid &o) const { return gain != o.gain ? gain < o.gain : rank > o.rank; }
};

struct Edge {
    double gain = 0;  // the least on the way here: it is granted no earlier
    int gpus = 0;     // added
};

std::vector<Edge> all_edges(const Ladders &ladders, const std::vector<Level> &levels) {
    std::vector<Edge> edges;
    edges.reserve(4 * levels.size());
    for (int rank = 0; rank < ladders.size(); ++rank) {
        double least = std::numeric_limits<double>::infinity();
        for (Level at = levels[static_cast<std::size_t>(rank)];;) {
            const Step step = ladders.best_step(rank, at, kTop);
            if (step.to < 0) break;
            least = std::min(least, step.gain);
            edges.push_back({least, ladders.gpus(rank, step.to) - ladders.gpus(rank, at)});
            at = step.to;
        }
    }
    return edges;
}

// Moves those that `goes_first` to the front, without a branch: which do is as good as random.
template <class Predicate>
Edge *part(Edge *begin, Edge *end, Predicate goes_first) {
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

// The gain above which all growths together add at most `free` GPUs; all that equal it are left
// out.
double threshold(std::vector<Edge> &edges, long free) {
    Edge *low = edges.data(), *high = low + edges.size();
    double above = std::numeric_limits<double>::infinity();
    while (low < high) {
        const double a = low->gain, b = high[-1].gain, c = low[(high - low) / 2].gain;
        const double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
        Edge *middle = part(low, high, [pivot](const Edge &e) { return e.gain > pivot; });
        const long larger = gpus_of(low, middle);
        if (larger > free) {
            high = middle;
            continue;
        }
        Edge *rest = part(middle, high, [pivot](const Edge &e) { return e.gain == pivot; });
        const long equal = gpus_of(middle, rest);
        above = pivot;
        if (larger + equal > free) break;
        free -= larger + equal;
        low = rest;
        if (low == high) above = std::nextafter(pivot, 0.0);
    }
    return above;
}

// All growths above that gain, if they fit; nothing otherwise.
void grow_at_once(const Ladders &ladders, std::vector<Level> &levels, Room &room, double above) {
    std::vector<Level> grown = levels;
    Room after = room;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        Level &level = grown[static_cast<std::size_t>(rank)];
        const int from = ladders.gpus(rank, level);
        for (Step step; (step = ladders.best_step(rank, level, kTop)).gain > above;)
            level = step.to;
        after.change(from, ladders.gpus(rank, level));
    }
    if (after.is_over()) return;  // of nodes that sizes do not fill: one by one, then
    levels = std::move(grown);
    room = after;
}

class Auction {
  public:
    Auction(const Ladders &ladders, std::vector<Level> &levels, Room &room)
        : ladders_(ladders), levels_(levels), room_(room) {}
    double run();

  private:
    void bid(int rank, Level most);
    [[nodiscard]] Level most_that_fits(int rank) const;
    void sweep();
    void refuse(const Bid &bid);

    const Ladders &ladders_;
    std::vector<Level> &levels_;
    Room &room_;
    std::vector<Bid> heap_;
    int swept_at_ = std::numeric_limits<int>::max();  // free GPUs
    bool refused_ = false;
    double short_by_ = 0;
};

void Auction::bid(int rank, Level most) {
    const Step step = ladders_.best_step(rank, levels_[static_cast<std::size_t>(rank)], most);
    if (step.to >= 0) heap_.push_back({step.gain, rank, step.to});
}

Level Auction::most_that_fits(int rank) const {
    const Level level = levels_[static_cast<std::size_t>(rank)];
    const int most = ladders_.gpus(rank, level) + room_.free_gpus();
    Level to = level;
    while (to < ladders_.row(rank).top && ladders_.gpus(rank, static_cast<Level>(to + 1)) <= most)
        ++to;
    return to;
}

// Drops all that does not fit any more, which one by one would cost a heap operation each.
void Auction::sweep() {
    swept_at_ = room_.free_gpus();
    std::size_t kept = 0;
    for (const Bid &bid : heap_) {
        const Step step = ladders_.best_step(bid.rank, levels_[static_cast<std::size_t>(bid.rank)],
                                             std::min(bid.to, most_that_fits(bid.rank)));
        if (step.to >= 0) heap_[kept++] = {step.gain, bid.rank, step.to};
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
    for (int rank = 0; rank < ladders_.size(); ++rank) bid(rank, kTop);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty() && room_.free_gpus() > 0) {
        std::pop_heap(heap_.begin(), heap_.end());
        const Bid best = heap_.back();
        heap_.pop_back();
        Level &level = levels_[static_cast<std::size_t>(best.rank)];
        const int from = ladders_.gpus(best.rank, level), to = ladders_.gpus(best.rank, best.to);
        if (!room_.fits(to, from)) {
            refuse(best);
            continue;
        }
        room_.change(from, to);
        level = best.to;
        if (refused_) short_by_ -= best.gain * (to - from);
        const std::size_t before = heap_.size();
        bid(best.rank, kTop);
        if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end());
    }
    return std::max(0.0, short_by_);
}

}  // namespace

double grow(const Ladders &ladders, std::vector<Level> &levels, Room &room, double likely) {
    if (room.free_gpus() == 0) return 0;
    if (std::isfinite(likely)) grow_at_once(ladders, levels, room, likely);
    if (ladders.size() > kFewJobs && room.free_gpus() > ladders.size() / kFewGrants) {
        std::vector<Edge> edges = all_edges(ladders, levels);
        grow_at_once(ladders, levels, room, threshold(edges, room.free_gpus()));
    }
    return Auction(ladders, levels, room).run();
}

}  // namespace ringrt::policy
