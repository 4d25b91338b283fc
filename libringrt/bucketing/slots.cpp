// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/slots.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace ringrt::bucketing {
namespace {

// A set of units; the lowest is the most urgent.
class UnitSet {
  public:
    void add(size_t unit) { words_[unit / 64] |= uint64_t{1} << unit % 64; }
    void add(const UnitSet &other) {
        for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    }
    void remove(size_t unit) { words_[unit / 64] &= ~(uint64_t{1} << unit % 64); }
    [[nodiscard]] bool empty() const { return (words_[0] | words_[1]) == 0; }
    [[nodiscard]] size_t most_urgent() const {
        return words_[0] != 0 ? static_cast<size_t>(std::countr_zero(words_[0]))
                              : 64 + static_cast<size_t>(std::countr_zero(words_[1]));
    }

  private:
    std::array<uint64_t, 2> words_{};
    static_assert(kMaxUnits == 128);
};

struct Taken {
    uint32_t unit = 0;
    double bytes = 0;
};

}  // namespace

class SlotRun {
  public:
    SlotRun(const Units &units, const Network &network)
        : units_(&units),
          phase_alpha_us_(network.phase_alpha_us()),
          us_per_byte_(network.us_per_byte()) {
        for (size_t i = 0; i < units.units.size(); ++i) to_reduce_[i] = units.units[i].bytes;
        iteration_us_ = units.compute_us;
        pull_ = network.servers ? 1 : 0;
        for (const size_t lane : {kPush, pull_}) left_us_[lane] += units.bytes * us_per_byte_;
    }

    SlotUse run(const Slot &slot, std::vector<Taken> *pieces) {
        return slot.phase == Phase::reduce_scatter ? reduce(slot.after, slot.bytes, pieces)
                                                   : gather(slot.bytes, pieces);
    }

    // `pieces`, if not null, receives the bytes taken per unit.
    SlotUse reduce(uint32_t after, double bytes, std::vector<Taken> *pieces) {
        const size_t wanted = std::min<size_t>(after, units_->by_ready.size());
        start_us_ = now_us_[kPush];
        if (wanted > 0) start_us_ = std::max(start_us_, ready_us(wanted - 1));
        release();
        UnitSet reducing;
        const SlotUse use =
            take(ready_, to_reduce_.data(), bytes, pieces, [&](size_t unit, double part) {
                to_gather_[unit] += part;
                reducing.add(unit);
            });
        send(kPush, use.taken);
        reduced_.add(reducing);
        return use;
    }

    SlotUse gather(double bytes, std::vector<Taken> *pieces) {
        start_us_ = std::max(now_us_[pull_], now_us_[kPush]);  // its units are reduced by then
        double tail = 0;
        const SlotUse use =
            take(reduced_, to_gather_.data(), bytes, pieces,
                 [&](size_t unit, double) { tail = std::max(tail, units_->units[unit].tail_us); });
        send(pull_, use.taken);
        if (use.taken > 0) iteration_us_ = std::max(iteration_us_, now_us_[pull_] + tail);
        return use;
    }

    // Advances to the time at which a unit can be reduced.
    void release_until_one() {
        double &now_us = now_us_[kPush];
        start_us_ = now_us;
        release();
        if (!ready_.empty()) return;
        now_us = start_us_ = std::max(now_us, ready_us(released_));
        release();
    }
    [[nodiscard]] uint32_t released() const { return static_cast<uint32_t>(released_); }
    [[nodiscard]] double most_urgent_bytes() const { return to_reduce_[ready_.most_urgent()]; }

    [[nodiscard]] double cost() const { return iteration_us_ + kLinkEnd * link_end_us(); }
    // Never falls from slot to slot, and cost() ends at or above it: the link must still send the
    // rest, and nothing ends before its transfers.
    [[nodiscard]] double least_cost() const {
        const double end_us = std::max(now_us_[0] + left_us_[0], now_us_[1] + left_us_[1]);
        return std::max(iteration_us_, end_us * (1 - 1e-9)) + kLinkEnd * link_end_us();
    }

  private:
    static constexpr double kLinkEnd = 1e-4;
    static constexpr size_t kPush = 0;

    [[nodiscard]] double link_end_us() const { return std::max(now_us_[0], now_us_[1]); }

    void send(size_t lane, double bytes) {
        const double us = bytes * us_per_byte_;
        if (bytes > 0) now_us_[lane] = start_us_ + (phase_alpha_us_ + us);
        left_us_[lane] -= us;
    }

    [[nodiscard]] double ready_us(size_t position) const {
        return units_->units[units_->by_ready[position]].ready_us;
    }

    void release() {
        while (released_ < units_->by_ready.size() && ready_us(released_) <= start_us_) {
            ready_.add(units_->by_ready[released_++]);
        }
    }

    template <class Each>
    SlotUse take(UnitSet &from, double *left, double bytes, std::vector<Taken> *pieces, Each each) {
        SlotUse use;
        if (!from.empty()) use.first = left[from.most_urgent()];
        while (use.taken < bytes && !from.empty()) {
            const size_t unit = from.most_urgent();
            double part = std::min(left[unit], bytes - use.taken);
            if (left[unit] - part < 1) part = left[unit];  // no tiny remainder
            use.above = use.taken + left[unit];
            left[unit] -= part;
            use.taken += part;
            if (left[unit] <= 0) {
                from.remove(unit);
                use.below = use.taken;
            }
            if (pieces != nullptr) pieces->push_back({static_cast<uint32_t>(unit), part});
            each(unit, part);
        }
        return use;
    }

    const Units *units_;
    double phase_alpha_us_, us_per_byte_;  // of the network: divisions, too slow for each slot
    std::array<double, kMaxUnits> to_reduce_{}, to_gather_{};
    UnitSet ready_, reduced_;
    size_t released_ = 0;
    double start_us_ = 0, iteration_us_ = 0;
    // By direction of the link. A ring uses the first for both phases; servers pull on the second.
    size_t pull_ = 0;
    std::array<double, 2> now_us_{}, left_us_{};  // left: time for the bytes not yet sent
};

namespace {

// Byte ranges of gradients for the next bytes of a unit, in priority order. A cut depends only on
// the bytes taken up to it, so that both phases cut alike.
class Cutter {
  public:
    Cutter(const Profile &profile, const Units &units) : profile_(profile), units_(units) {
        for (const Unit &unit : units.units) at_.push_back({unit.first, 0, 0, 0});
    }

    void cut(const Taken &taken, std::vector<Piece> &out) {
        Position &at = at_[taken.unit];
        const Unit &unit = units_.units[taken.unit];
        at.taken += taken.bytes;
        const bool all = at.taken > unit.bytes - 1;
        while (at.gradient <= unit.last) {
            const uint64_t size = profile_.gradients[at.gradient].bytes;
            const uint64_t end = all ? size : cut_within(at.taken - at.passed, size);
            if (end > at.offset) out.push_back({at.gradient, at.offset, end - at.offset});
            at.offset = std::max(at.offset, end);
            if (end < size) return;
            at.passed += static_cast<double>(size);
            at.offset = 0;
            ++at.gradient;
        }
    }

  private:
    struct Position {
        uint32_t gradient = 0;
        uint64_t offset = 0;
        double taken = 0;   // bytes of the unit
        double passed = 0;  // bytes of the unit's gradients before this one
    };

    // Cuts lie on multiples of 4 KiB, so that elements of every type stay whole.
    static uint64_t cut_within(double bytes, uint64_t size) {
        if (bytes <= 0) return 0;
        if (bytes >= static_cast<double>(size)) return size;
        return std::min(size, (static_cast<uint64_t>(bytes) + 4095) / 4096 * 4096);
    }

    const Profile &profile_;
    const Units &units_;
    std::vector<Position> at_;
};

}  // namespace

SlotRater::SlotRater(const Units &units, const Network &network)
    : units_(units), before_{SlotRun(units, network)} {}

SlotRater::~SlotRater() = default;

double SlotRater::rate(const std::vector<Slot> &slots) const { return rate(slots, 0, kAll); }

double SlotRater::rate(const std::vector<Slot> &slots, size_t same, double enough) const {
    SlotRun run = before_[same];
    for (size_t i = same; i < slots.size() && run.least_cost() < enough; ++i) {
        run.run(slots[i], nullptr);
    }
    if (run.least_cost() >= enough) return kAll;
    run.reduce(static_cast<uint32_t>(units_.units.size()), kAll, nullptr);
    run.gather(kAll, nullptr);
    return run.cost() < enough ? run.cost() : kAll;
}

void SlotRater::set_base(const std::vector<Slot> &slots, size_t same) {
    before_.erase(before_.begin() + static_cast<ptrdiff_t>(same) + 1, before_.end());
    uses_.resize(same);
    for (size_t i = same; i < slots.size(); ++i) {
        before_.push_back(before_[i]);
        uses_.push_back(before_.back().run(slots[i], nullptr));
    }
}

std::vector<Slot> urgent_first(const Units &units, const Network &network, double window_bytes) {
    std::vector<Slot> slots;
    SlotRun run(units, network);
    for (double left = units.bytes; left >= 1;) {
        run.release_until_one();
        Slot slot{Phase::reduce_scatter, run.released(), window_bytes};
        if (window_bytes <= 0) slot.bytes = run.most_urgent_bytes();
        left -= run.reduce(slot.after, slot.bytes, nullptr).taken;
        run.gather(kAll, nullptr);
        slots.push_back(slot);
        slots.push_back({Phase::all_gather, 0, kAll});
    }
    return slots;
}

Plan plan_of(const Profile &profile, const Units &units, const Network &network,
             const std::vector<Slot> &slots) {
    Plan plan;
    SlotRun run(units, network);
    Cutter reduced(profile, units), gathered(profile, units);
    std::vector<Slot> all = slots;
    all.push_back({Phase::reduce_scatter, static_cast<uint32_t>(units.units.size()), kAll});
    all.push_back({Phase::all_gather, 0, kAll});
    for (const Slot &slot : all) {
        std::vector<Taken> taken;
        const bool reduces = slot.phase == Phase::reduce_scatter;
        run.run(slot, &taken);
        Block block{.phase = slot.phase};
        for (const Taken &part : taken) (reduces ? reduced : gathered).cut(part, block.pieces);
        if (!block.pieces.empty()) plan.blocks.push_back(std::move(block));
    }
    return plan;
}

}  // namespace ringrt::bucketing
