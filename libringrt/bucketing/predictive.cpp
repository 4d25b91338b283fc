// SPDX-License-Identifier: BSD-3-Clause
// ringrt's own rule. It applies Prophet's idea (a block fits into the gap before something more
// urgent is ready) to a ring, in both phases. The backward pass reduce-scatters ready gradients and
// fills gaps with all-gathers of reduced ones. When the forward pass can start, everything is sent
// in order of need.
//
// The plan is a sequence of slots (slots.h). Seeds are laid out over the predicted ready times, for
// several collection times and several cuts of the rest. The best seeds are improved move by move,
// rated by the exact model, until no move helps or the budget is spent. The budget counts
// evaluations, not time: the same input gives the same plan on every machine.
#include <algorithm>
#include <array>

#include "libringrt/bucketing/bound.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/search.h"
#include "libringrt/bucketing/slots.h"
#include "libringrt/bucketing/timeline.h"

namespace ringrt::bucketing {
namespace {

// How the link time after the last gradient is ready is cut.
struct Ending {
    int windows = 1;
    double ratio = 1;     // each window is this many times the previous one
    bool paired = false;  // alternates reduce-scatter and all-gather per window
};

constexpr size_t kStartsWithEveryEnding = 4;
constexpr double kNearBound = 1.0001;  // of the bound: no other rule is faster by more

struct Seed {
    double collect_us = 0;      // how long a reduce-scatter may wait for more ready gradients
    bool gather_early = false;  // all-gather in the gaps of the backward pass
    Ending ending{};
};

double window_bytes(const Ending &ending, int number, double total) {
    double sum = 0, weight = 1, mine = 1;
    for (int i = 0; i < ending.windows; ++i, weight *= ending.ratio) {
        sum += weight;
        if (i == number) mine = weight;
    }
    return total * mine / sum;
}

// Iterates over the ready times once: emits the reduce-scatters of the backward pass, and between
// them all-gathers that fit the gap.
class Layout {
  public:
    Layout(const Units &units, const Network &network, const Seed &seed)
        : units_(units), network_(network), seed_(seed) {}

    std::vector<Slot> slots() {
        const size_t count = units_.by_ready.size();
        while (next_ < count) {
            const double first = std::max(now_us_, ready_us(next_));
            double bytes = 0, start = first;
            size_t end = next_;
            for (; end < count && ready_us(end) <= first + seed_.collect_us; ++end) {
                start = std::max(start, ready_us(end));
                bytes += units_.units[units_.by_ready[end]].bytes;
            }
            if (end == count) break;
            fill_gap(start);
            reduce(static_cast<uint32_t>(end), start, bytes);
            next_ = end;
        }
        finish();
        return std::move(slots_);
    }

  private:
    [[nodiscard]] double ready_us(size_t position) const {
        return units_.units[units_.by_ready[position]].ready_us;
    }

    void fill_gap(double until_us) {
        const double room_us = until_us - now_us_ - network_.phase_alpha_us();
        if (!seed_.gather_early || network_.servers || reduced_bytes_ <= 0 || room_us <= 0) return;
        const double bytes = std::min(reduced_bytes_, room_us / network_.us_per_byte());
        if (bytes < reduced_bytes_ && room_us < network_.phase_alpha_us()) return;
        slots_.push_back({Phase::all_gather, 0, bytes});
        reduced_bytes_ -= bytes;
        now_us_ += network_.phase_us(bytes);
    }

    void reduce(uint32_t after, double start_us, double bytes) {
        slots_.push_back({Phase::reduce_scatter, after, kAll});
        reduced_bytes_ += bytes;
        now_us_ = std::max(now_us_, start_us) + network_.phase_us(bytes);
        // The pull direction is free while the next push runs.
        if (network_.servers && seed_.gather_early) slots_.push_back({Phase::all_gather, 0, kAll});
    }

    void finish() {
        double rest = 0;
        const auto all = static_cast<uint32_t>(units_.by_ready.size());
        for (size_t i = next_; i < all; ++i) rest += units_.units[units_.by_ready[i]].bytes;
        const Ending &ending = seed_.ending;
        if (!ending.paired) slots_.push_back({Phase::reduce_scatter, all, kAll});
        for (int i = 0; i < ending.windows; ++i) {
            const bool last = i + 1 == ending.windows;
            if (ending.paired) {
                slots_.push_back(
                    {Phase::reduce_scatter, all, last ? kAll : window_bytes(ending, i, rest)});
            }
            const double bytes = window_bytes(ending, i, rest + reduced_bytes_);
            slots_.push_back({Phase::all_gather, 0, last ? kAll : bytes});
        }
    }

    const Units &units_;
    const Network &network_;
    const Seed &seed_;
    std::vector<Slot> slots_;
    size_t next_ = 0;
    double now_us_ = 0, reduced_bytes_ = 0;
};

std::vector<double> collect_times(const Units &units, const Network &network) {
    std::vector<double> times = {0};
    const double alpha = network.phase_alpha_us();
    for (double factor : {0.5, 1.0, 2.0, 4.0}) times.push_back(alpha * factor);
    for (double part : {0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0}) {
        times.push_back(units.compute_us * part);
    }
    return times;
}

std::vector<Ending> endings() {
    std::vector<Ending> out = {{1, 1, false}};
    for (bool paired : {false, true}) {
        for (int windows : {2, 3, 5, 8, 16}) {
            for (double ratio : {0.5, 1.0, 2.0}) {
                if (windows < 16 || ratio == 1.0) out.push_back({windows, ratio, paired});
            }
        }
    }
    return out;
}

// The candidates that improve_best() looks at, best first; the first of equals.
class BestSeeds {
  public:
    BestSeeds(const Units &units, const Network &network) : rater_(units, network) {}

    // Returns the cost.
    double add(std::vector<Slot> slots) {
        const double cost = rater_.rate(slots);
        if (cost < worst()) insert(cost, std::move(slots));
        return cost;
    }

    // The same, but stops as soon as the cost is known to be too high.
    void add_if_good(std::vector<Slot> slots) {
        const double cost = rater_.rate(slots, 0, worst());
        if (cost < kAll) insert(cost, std::move(slots));
    }

    [[nodiscard]] std::vector<Candidate> take() { return std::move(best_); }

  private:
    [[nodiscard]] double worst() const { return best_.size() < kStarts ? kAll : best_.back().cost; }

    void insert(double cost, std::vector<Slot> slots) {
        const auto at = std::ranges::upper_bound(best_, cost, {}, &Candidate::cost);
        best_.insert(at, {cost, std::move(slots)});
        if (best_.size() > kStarts) best_.pop_back();
    }

    SlotRater rater_;
    std::vector<Candidate> best_;
};

// Every collection time with the simplest ending, then every ending with the best of them.
std::vector<Candidate> seeds(const Units &units, const Network &network) {
    struct Start {
        double cost = 0;
        Seed seed;
    };
    BestSeeds best(units, network);
    std::vector<Start> starts;
    for (double collect_us : collect_times(units, network)) {
        for (bool gather_early : {false, true}) {
            const Seed seed{collect_us, gather_early, {}};
            starts.push_back({best.add(Layout(units, network, seed).slots()), seed});
        }
    }
    std::ranges::stable_sort(starts, {}, &Start::cost);
    starts.resize(kStartsWithEveryEnding);
    for (Start &start : starts) {
        for (const Ending &ending : endings()) {
            start.seed.ending = ending;
            best.add_if_good(Layout(units, network, start.seed).slots());
        }
    }
    for (double windows : {64.0, 32.0, 16.0, 8.0, 4.0, 2.0})
        best.add_if_good(urgent_first(units, network, units.bytes / windows));
    best.add_if_good(urgent_first(units, network, 0));
    return best.take();
}

// A lower bound for rules with a barrier: each ready byte is sent once each way, then the whole
// forward pass runs.
double least_with_barrier_us(const Profile &profile, const Network &network) {
    double now = 0;
    for (uint32_t id : ready_order(profile)) {
        const Gradient &gradient = profile.gradients[id];
        now = std::max(now, gradient.ready_us) +
              network.phases_held() * static_cast<double>(gradient.bytes) * network.us_per_byte();
    }
    return now * (1 - 1e-9) + 2 * network.phase_alpha_us() + forward_us(profile);
}

}  // namespace

Plan predictive(const Profile &profile, const Network &network) {
    const Units units = coarsen(profile);
    if (units.units.empty()) return {};
    const double bound_us = bound_of(profile, network).with_alpha_us;
    const Candidate best = improve_best(units, network, seeds(units, network), bound_us);
    Plan plan = plan_of(profile, units, network, best.slots);
    if (simulate(profile, network, plan).iteration_us <= kNearBound * bound_us) return plan;
    // Start-ups dominate here, or the gradients' order differs within units. Another rule may then
    // have a plan that the search did not find.
    BestPlan any(profile, network);
    any.offer(std::move(plan));
    for (const auto offer : {offer_dear, offer_priority, offer_prophet, offer_p3})
        offer(profile, network, any);
    for (const auto rule : {bytescheduler, tictac}) any.offer(rule(profile, network));
    if (any.iteration_us() <= least_with_barrier_us(profile, network)) return any.take();
    for (const auto rule : {fifo, ddp, mgwfbp, fusion}) any.offer(rule(profile, network));
    return any.take();
}

}  // namespace ringrt::bucketing
