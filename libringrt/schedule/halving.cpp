// SPDX-License-Identifier: BSD-3-Clause
// Halving-doubling in tree order (Order::Tree), for any number of ranks.
//
// In the exchange over distance d = 1, 2, 4 ... a rank keeps the upper half of its blocks if its
// bit d is set, otherwise the lower half. It sends its sums of the other half to its partner and
// adds the sums that it receives. These are sums of 2, 4, 8 ... neighbours, the branches of the
// tree. Doubling returns the results along the same path.
//
// p = 2^a + 2^b + ..., largest first, gives groups of ranks that are branches as well, and T(0, p)
// = G0 + (G1 + (G2 + ...)): the last group sends its sums to the previous group, which adds its
// own, and so on up to the first; the results return along the same path.
#include <algorithm>
#include <bit>

#include "libringrt/schedule/schedule.h"

namespace ringrt {
namespace {

uint16_t u16(int value) { return static_cast<uint16_t>(value); }

constexpr uint32_t kUp = 100, kDown = 101, kDoubling = 200;
// Rows of the partials, and of raw data: this rank's, the next group's, and from kTheirs on one per
// partner. Separate rows, because each may arrive at any time.
enum Row : uint16_t { kMine = 0, kNext = 1, kTheirs = 2 };

Ref blocks_of(Place place, int first, int count, uint16_t row = 0) {
    return {place, row, u16(first), u16(count)};
}

// A power-of-two group of ranks, over all blocks.
struct Group {
    int first = 0, ranks = 1;

    [[nodiscard]] bool holds(int rank) const { return rank >= first && rank < first + ranks; }
};

std::vector<Group> groups_of(int size) {
    std::vector<Group> groups;
    for (int first = 0; first < size; first += groups.back().ranks)
        groups.push_back({first, int(std::bit_floor(unsigned(size - first)))});
    return groups;
}

// The blocks that a rank of a group ends with: its lowest bit selects the largest half.
Ref kept_by(const Group &group, int rank, int blocks) {
    int first = 0, count = blocks;
    for (int bit = 1; bit < group.ranks; bit *= 2) {
        count /= 2;
        if (((rank - group.first) & bit) != 0) first += count;
    }
    return blocks_of(Place::Output, first, count);
}

class Halving {
  public:
    Halving(int rank, int size) : rank_(rank), groups_(groups_of(size)) {
        schedule_ = {.name = "halving", .blocks = groups_[0].ranks, .rows = kTheirs + 1};
        schedule_.partials = kTheirs + std::bit_width(unsigned(groups_[0].ranks));
        while (!groups_[at_].holds(rank)) ++at_;
    }

    Schedule make() {
        const Ref kept = kept_by(groups_[at_], rank_, schedule_.blocks);
        const bool alone = groups_[at_].ranks == 1;
        std::vector<uint32_t> sums, results;
        // A group of one rank, always the last, sends its own data instead of sums.
        const bool raw = at_ + 1 < groups_.size() && groups_[at_ + 1].ranks == 1;
        if (at_ + 1 < groups_.size())
            sums = expect(groups_[at_ + 1], kUp, kept, raw ? Place::Row : Place::Partial, kNext);
        if (at_ > 0) results = expect(groups_[at_ - 1], kDown, kept, Place::Output, 0);
        halve();
        if (!sums.empty()) add_next(sums, kept, raw);
        if (at_ > 0)
            send(groups_[at_ - 1], kUp, kept, alone ? Place::Input : Place::Partial, kMine);
        await(results);
        if (at_ + 1 < groups_.size()) send(groups_[at_ + 1], kDown, kept, Place::Output, 0);
        double_back();
        if (alone && groups_.size() == 1)
            schedule_.copy(blocks_of(Place::Input, 0, 1), blocks_of(Place::Output, 0, 1));
        return std::move(schedule_);
    }

  private:
    struct Exchange {
        int partner, keep, pass, half;
    };

    void halve() {
        const Group &group = groups_[at_];
        const int me = rank_ - group.first;
        int low = 0, held = schedule_.blocks;
        uint32_t slot = 0;
        for (int distance = 1; distance < group.ranks; distance *= 2, ++slot) {
            const int partner = group.first + (me ^ distance), half = held / 2;
            const bool upper = (me & distance) != 0;
            const int keep = upper ? low + half : low, pass = upper ? low : low + half;
            exchange(partner, slot, keep, pass, half, distance * 2 == group.ranks);
            done_.push_back({partner, keep, pass, half});
            low = keep, held = half;
        }
    }

    void exchange(int partner, uint32_t slot, int keep, int pass, int half, bool last) {
        const bool raw = slot == 0;
        const Ref theirs =
            blocks_of(raw ? Place::Row : Place::Partial, keep, half, uint16_t(kTheirs + slot));
        const Ref mine = blocks_of(raw ? Place::Input : Place::Partial, keep, half, kMine);
        const uint32_t receive = schedule_.expect(partner, slot, {theirs});
        schedule_.send(partner, slot,
                       {blocks_of(raw ? Place::Input : Place::Partial, pass, half, kMine)});
        schedule_.await(receive);
        const bool finish = last && groups_.size() == 1;
        ReduceStep step{
            .partial = {},
            .sources = {mine, theirs},
            .out = blocks_of(finish ? Place::Output : Place::Partial, keep, half, kMine)};
        if (partner < rank_) std::swap(step.sources[0], step.sources[1]);
        schedule_.reduce(std::move(step));
    }

    void add_next(const std::vector<uint32_t> &sums, const Ref &kept, bool raw) {
        await(sums);
        const Ref mine = blocks_of(Place::Partial, kept.first, kept.count, kMine);
        const Ref theirs =
            blocks_of(raw ? Place::Row : Place::Partial, kept.first, kept.count, kNext);
        ReduceStep step{.partial = {}, .sources = {theirs}, .out = at_ == 0 ? kept : mine};
        if (raw) step.partial = mine;
        if (!raw) step.sources = {mine, theirs};
        schedule_.reduce(std::move(step));
    }

    void double_back() {
        uint32_t slot = kDoubling;
        for (size_t i = done_.size(); i-- > 0; ++slot) {
            const Exchange &each = done_[i];
            const uint32_t receive = schedule_.expect(
                each.partner, slot, {blocks_of(Place::Output, each.pass, each.half)});
            schedule_.send(each.partner, slot, {blocks_of(Place::Output, each.keep, each.half)});
            schedule_.await(receive);
        }
    }

    // Calls use(rank of the other group, first, count) with the blocks that it and this rank both
    // keep.
    template <class Use>
    void each_shared(const Group &other, const Ref &kept, Use use) {
        for (int rank = other.first; rank < other.first + other.ranks; ++rank) {
            const Ref theirs = kept_by(other, rank, schedule_.blocks);
            const int first = std::max(kept.first, theirs.first),
                      last = std::min(kept.first + kept.count, theirs.first + theirs.count);
            if (first < last) use(rank, first, last - first);
        }
    }
    std::vector<uint32_t> expect(const Group &from, uint32_t slot, const Ref &kept, Place place,
                                 uint16_t row) {
        std::vector<uint32_t> out;
        each_shared(from, kept, [&](int rank, int first, int count) {
            out.push_back(schedule_.expect(rank, slot, {blocks_of(place, first, count, row)}));
        });
        return out;
    }
    void send(const Group &to, uint32_t slot, const Ref &kept, Place place, uint16_t row) {
        each_shared(to, kept, [&](int rank, int first, int count) {
            schedule_.send(rank, slot, {blocks_of(place, first, count, row)});
        });
    }
    void await(const std::vector<uint32_t> &receives) {
        for (uint32_t each : receives) schedule_.await(each);
    }

    int rank_;
    std::vector<Group> groups_;
    size_t at_ = 0;  // this rank's group
    Schedule schedule_;
    std::vector<Exchange> done_;
};

}  // namespace

Schedule halving(int rank, int size) { return Halving(rank, size).make(); }

}  // namespace ringrt
