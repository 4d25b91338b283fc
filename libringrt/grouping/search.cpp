// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/grouping/search.h"

#include <algorithm>

namespace ringrt::grouping {
namespace {

constexpr int kStarts = 2;
constexpr int64_t kWork = 120'000;  // slots and units visited, per start: a few ms
constexpr size_t kMaxSlots = 64;

class Climb {
  public:
    Climb(const Units &units, const Network &network, Candidate start, double enough)
        : units_(units), network_(network), best_(std::move(start)), enough_(enough) {}

    Candidate run() {
        for (bool better = true; better && left_ > 0 && best_.cost > enough_;) {
            better = false;
            drop_empty();
            for (size_t i = 0; i <= best_.slots.size() && best_.cost > enough_; ++i)
                better |= moves_at(i);
        }
        return std::move(best_);
    }

  private:
    bool attempt(std::vector<Slot> slots) {
        if (left_ <= 0 || slots.size() > kMaxSlots) return false;
        left_ -= static_cast<int64_t>(slots.size() + units_.units.size());
        Candidate next = rate(units_, network_, std::move(slots));
        if (next.cost >= best_.cost * (1 - 1e-9)) return false;
        best_ = std::move(next);
        return true;
    }

    void drop_empty() {
        std::vector<Slot> slots;
        for (size_t i = 0; i < best_.slots.size(); ++i) {
            if (best_.uses[i].taken > 0) slots.push_back(best_.slots[i]);
        }
        if (slots.size() < best_.slots.size()) best_ = rate(units_, network_, std::move(slots));
    }

    bool moves_at(size_t i) {
        bool better = insert(i);
        if (i >= best_.slots.size()) return better;
        better |= remove(i);
        if (i + 1 < best_.slots.size()) better |= swap(i);
        if (i < best_.slots.size()) better |= resize(i);
        if (i < best_.slots.size()) better |= shift(i);
        if (i < best_.slots.size()) better |= split(i);
        return better;
    }

    bool remove(size_t i) {
        std::vector<Slot> slots = best_.slots;
        slots.erase(slots.begin() + static_cast<ptrdiff_t>(i));
        return attempt(std::move(slots));
    }

    bool swap(size_t i) {
        std::vector<Slot> slots = best_.slots;
        if (slots[i] == slots[i + 1]) return false;
        std::swap(slots[i], slots[i + 1]);
        return attempt(std::move(slots));
    }

    bool resize(size_t i) {
        bool better = false;
        for (double factor : {0.25, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0}) {
            better |= set_bytes(i, best_.uses[i].taken * factor);
        }
        for (double SlotUse::*cut : {&SlotUse::below, &SlotUse::above, &SlotUse::first}) {
            better |= set_bytes(i, best_.uses[i].*cut);
        }
        return better | set_bytes(i, kAll);
    }

    bool set_bytes(size_t i, double bytes) {
        if (bytes <= 0 || bytes == best_.slots[i].bytes) return false;
        std::vector<Slot> slots = best_.slots;
        slots[i].bytes = bytes;
        return attempt(std::move(slots));
    }

    bool shift(size_t i) {
        if (best_.slots[i].phase != Phase::reduce_scatter) return false;
        bool better = false;
        const auto count = static_cast<int>(units_.units.size());
        for (int step : {-16, -8, -4, -2, -1, 1, 2, 4, 8, 16}) {
            std::vector<Slot> slots = best_.slots;
            const int after = static_cast<int>(slots[i].after) + step;
            if (after < 0 || after > count) continue;
            slots[i].after = static_cast<uint32_t>(after);
            better |= attempt(std::move(slots));
        }
        return better;
    }

    // Two slots instead of one: the second as the first was.
    bool split(size_t i) {
        const SlotUse use = best_.uses[i];
        for (double bytes : {use.first, 0.15 * use.taken, 0.5 * use.taken, 0.85 * use.taken}) {
            if (bytes <= 0 || bytes >= use.taken) continue;
            std::vector<Slot> slots = best_.slots;
            Slot first = slots[i];
            first.bytes = bytes;
            slots.insert(slots.begin() + static_cast<ptrdiff_t>(i), first);
            if (attempt(std::move(slots))) return true;
        }
        return false;
    }

    bool insert(size_t i) {
        bool better = false;
        const auto at = static_cast<ptrdiff_t>(i);
        for (double part : {0.02, 0.1, 0.3, 1.0}) {
            std::vector<Slot> slots = best_.slots;
            const double bytes = part >= 1 ? kAll : units_.bytes * part;
            slots.insert(slots.begin() + at, {Phase::all_gather, 0, bytes});
            better |= attempt(std::move(slots));
        }
        const uint32_t before = i > 0 ? after_of(i - 1) : 0;
        const auto all = static_cast<uint32_t>(units_.units.size());
        const uint32_t behind = i < best_.slots.size() ? after_of(i) : all;
        for (uint32_t after : {before + (behind - std::min(before, behind)) / 2, before + 1}) {
            std::vector<Slot> slots = best_.slots;
            slots.insert(slots.begin() + at, {Phase::reduce_scatter, std::min(after, all), kAll});
            better |= attempt(std::move(slots));
        }
        return better;
    }

    // The `after` of the last reduce-scatter up to slot i.
    [[nodiscard]] uint32_t after_of(size_t i) const {
        for (size_t at = i + 1; at-- > 0;) {
            if (best_.slots[at].phase == Phase::reduce_scatter) return best_.slots[at].after;
        }
        return 0;
    }

    const Units &units_;
    const Network &network_;
    Candidate best_;
    double enough_ = 0;
    int64_t left_ = kWork;
};

}  // namespace

Candidate rate(const Units &units, const Network &network, std::vector<Slot> slots) {
    SlotResult result = run_slots(units, network, slots);
    return {result.iteration_us + 1e-4 * result.link_end_us, std::move(slots),
            std::move(result.uses)};
}

Candidate improve_best(const Units &units, const Network &network, std::vector<Candidate> found,
                       double bound_us) {
    const double enough = bound_us * 1.001;
    Candidate best;
    for (size_t i = 0; i < found.size() && i < kStarts; ++i) {
        Candidate end = Climb(units, network, std::move(found[i]), enough).run();
        if (i == 0 || end.cost < best.cost) best = std::move(end);
        if (best.cost <= enough) break;
    }
    return best;
}

}  // namespace ringrt::grouping
