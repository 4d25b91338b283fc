// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/placer.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "sim/workload/profile.h"

namespace ringrt::sim {
namespace {

int total(const Seats &seats) {
    return std::accumulate(seats.begin(), seats.end(), 0,
                           [](int sum, const auto &seat) { return sum + seat.second; });
}

}  // namespace

void Placer::take(Seats &seats, int node, int gpus) {
    free_[node] -= gpus;
    seats.emplace_back(node, gpus);
}

void Placer::release(Seats &seats) {
    for (const auto &[node, gpus] : seats) free_[node] += gpus;
    seats.clear();
}

void Placer::seat_spread(int gpus, Seats &seats) {
    while (gpus > 0) {
        const auto most = std::max_element(free_.begin(), free_.end());
        if (*most == 0) throw std::logic_error("placer: more GPUs given than there are");
        const int part = std::min(gpus, *most);
        take(seats, static_cast<int>(most - free_.begin()), part);
        gpus -= part;
    }
}

// The node on which `gpus` fit after moving the fewest GPUs of smaller jobs; on ties the fullest.
// -1: none.
int Placer::cheapest_node(int gpus, const std::vector<int> &movable) const {
    int best = -1, best_moved = 0, best_left = 0;
    for (int node = 0; node < static_cast<int>(free_.size()); ++node) {
        if (free_[node] + movable[node] < gpus) continue;
        const int moved = std::max(0, gpus - free_[node]);
        const int left = std::max(0, free_[node] - gpus);
        if (best >= 0 && (moved > best_moved || (moved == best_moved && left >= best_left)))
            continue;
        best = node;
        best_moved = moved;
        best_left = left;
    }
    return best;
}

// The share on each node but the last.
int Placer::share_of(int gpus) const {
    if (rule_ != Placement::pack_evenly) return std::min(gpus, gpus_per_node_);
    return packed_evenly(gpus, gpus_per_node_)[0];
}

void Placer::seat_packed(std::size_t job, const std::vector<int> &want, std::vector<Seats> &seats,
                         std::vector<std::size_t> &waiting) {
    int gpus = want[job];
    const int share = share_of(gpus);
    std::vector<std::vector<std::size_t>> smaller;  // by node: seated jobs that may be moved
    std::vector<int> movable(free_.size(), 0);
    const bool fits = std::any_of(free_.begin(), free_.end(), [&](int f) { return f >= share; });
    if ((rule_ == Placement::pack || rule_ == Placement::pack_evenly) &&
        (!fits || gpus > gpus_per_node_)) {
        smaller.resize(free_.size());
        for (std::size_t other = 0; other < seats.size(); ++other) {
            if (seats[other].size() != 1 || want[other] >= share) continue;
            smaller[seats[other][0].first].push_back(other);
            movable[seats[other][0].first] += seats[other][0].second;
        }
    }
    Seats mine;
    while (gpus > 0) {
        const int part = std::min(gpus, share);
        const int node = cheapest_node(part, movable);
        if (node < 0) break;
        if (free_[node] < part) {
            std::vector<std::size_t> &there = smaller[node];
            std::sort(there.begin(), there.end(), [&](std::size_t a, std::size_t b) {
                return std::pair(want[a], a) < std::pair(want[b], b);
            });
            for (const std::size_t other : there) {
                if (free_[node] >= part) break;
                movable[node] -= want[other];
                release(seats[other]);
                waiting.push_back(other);
            }
        }
        take(mine, node, part);
        gpus -= part;
    }
    if (gpus > 0) seat_spread(gpus, mine);  // sizes that are no powers of two may fit only in gaps
    seats[job] = std::move(mine);
}

void Placer::place(const std::vector<int> &want, std::vector<Seats> &seats) {
    std::vector<std::size_t> waiting;
    for (std::size_t job = 0; job < want.size(); ++job) {
        if (total(seats[job]) == want[job]) continue;
        release(seats[job]);
        if (want[job] > 0) waiting.push_back(job);
    }
    if (rule_ == Placement::spread_small_first)
        std::stable_sort(waiting.begin(), waiting.end(),
                         [&](std::size_t a, std::size_t b) { return want[a] < want[b]; });
    if (rule_ == Placement::spread || rule_ == Placement::spread_small_first) {
        for (const std::size_t job : waiting) seat_spread(want[job], seats[job]);
        return;
    }
    // Largest first: jobs displaced by a large job are smaller, so they come later in this order.
    while (!waiting.empty()) {
        const auto next =
            std::max_element(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
                return want[a] != want[b] ? want[a] < want[b] : a > b;
            });
        const std::size_t job = *next;
        waiting.erase(next);
        seat_packed(job, want, seats, waiting);
    }
}

}  // namespace ringrt::sim
