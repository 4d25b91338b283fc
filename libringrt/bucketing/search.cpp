// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/search.h"

#include <algorithm>

namespace ringrt::bucketing {
namespace {

constexpr int64_t kWork = 120'000;  // slots and units visited, per start: a few ms
constexpr size_t kMaxSlots = 64;

class Climb {
  public:
    Climb(const Units &units, const Network &network, Candidate start, double enough)
        : units_(units), rater_(units, network), best_(std::move(start)), enough_(enough) {
        rate_afresh();
    }

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
    void rate_afresh() {
        best_.cost = rater_.rate(best_.slots);
        rater_.set_base(best_.slots, 0);
    }

    // Copies the best slots, to change them from slot i on.
    std::vector<Slot> &copy() { return changed_ = best_.slots; }

    // Adopts changed_, which differs from the best from slot i on, if it is better.
    bool attempt(size_t i) {
        if (left_ <= 0 || changed_.size() > kMaxSlots) return false;
        left_ -= static_cast<int64_t>(changed_.size() + units_.units.size());
        const double cost = rater_.rate(changed_, i, best_.cost * (1 - 1e-9));
        if (cost >= kAll) return false;
        best_.cost = cost;
        best_.slots = changed_;
        rater_.set_base(changed_, i);
        return true;
    }

    [[nodiscard]] const SlotUse &use(size_t i) const { return rater_.base_uses()[i]; }

    void drop_empty() {
        std::vector<Slot> slots;
        for (size_t i = 0; i < best_.slots.size(); ++i) {
            if (use(i).taken > 0) slots.push_back(best_.slots[i]);
        }
        if (slots.size() == best_.slots.size()) return;
        best_.slots = std::move(slots);
        rate_afresh();
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
        copy().erase(changed_.begin() + static_cast<ptrdiff_t>(i));
        return attempt(i);
    }

    bool swap(size_t i) {
        if (best_.slots[i] == best_.slots[i + 1]) return false;
        copy();  // separate: the evaluation order of arguments is unspecified
        std::swap(changed_[i], changed_[i + 1]);
        return attempt(i);
    }

    bool resize(size_t i) {
        bool better = false;
        for (double factor : {0.25, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0}) {
            better |= set_bytes(i, use(i).taken * factor);
        }
        for (double SlotUse::*cut : {&SlotUse::below, &SlotUse::above, &SlotUse::first}) {
            better |= set_bytes(i, use(i).*cut);
        }
        return better | set_bytes(i, kAll);
    }

    bool set_bytes(size_t i, double bytes) {
        if (bytes <= 0 || bytes == best_.slots[i].bytes) return false;
        copy()[i].bytes = bytes;
        return attempt(i);
    }

    bool shift(size_t i) {
        if (best_.slots[i].phase != Phase::reduce_scatter) return false;
        bool better = false;
        const auto count = static_cast<int>(units_.units.size());
        for (int step : {-16, -8, -4, -2, -1, 1, 2, 4, 8, 16}) {
            const int after = static_cast<int>(best_.slots[i].after) + step;
            if (after < 0 || after > count) continue;
            copy()[i].after = static_cast<uint32_t>(after);
            better |= attempt(i);
        }
        return better;
    }

    bool insert_at(size_t i, const Slot &slot) {
        copy().insert(changed_.begin() + static_cast<ptrdiff_t>(i), slot);
        return attempt(i);
    }

    // Two slots instead of one: the second equals the old one.
    bool split(size_t i) {
        const SlotUse now = use(i);
        for (double bytes : {now.first, 0.15 * now.taken, 0.5 * now.taken, 0.85 * now.taken}) {
            if (bytes <= 0 || bytes >= now.taken) continue;
            Slot first = best_.slots[i];
            first.bytes = bytes;
            if (insert_at(i, first)) return true;
        }
        return false;
    }

    bool insert(size_t i) {
        bool better = false;
        for (double part : {0.02, 0.1, 0.3, 1.0}) {
            const double bytes = part >= 1 ? kAll : units_.bytes * part;
            better |= insert_at(i, {Phase::all_gather, 0, bytes});
        }
        const uint32_t before = i > 0 ? after_of(i - 1) : 0;
        const auto all = static_cast<uint32_t>(units_.units.size());
        const uint32_t behind = i < best_.slots.size() ? after_of(i) : all;
        for (uint32_t after : {before + (behind - std::min(before, behind)) / 2, before + 1}) {
            better |= insert_at(i, {Phase::reduce_scatter, std::min(after, all), kAll});
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
    SlotRater rater_;
    Candidate best_;
    std::vector<Slot> changed_;
    double enough_ = 0;
    int64_t left_ = kWork;
};

}  // namespace

Candidate improve_best(const Units &units, const Network &network, std::vector<Candidate> found,
                       double bound_us) {
    const double enough = bound_us * 1.001;
    Candidate best;
    for (size_t i = 0; i < found.size(); ++i) {
        Candidate end = Climb(units, network, std::move(found[i]), enough).run();
        if (i == 0 || end.cost < best.cost) best = std::move(end);
        if (best.cost <= enough) break;
    }
    return best;
}

}  // namespace ringrt::bucketing
