// SPDX-License-Identifier: BSD-3-Clause
// Halving-doubling in rank order, for any number of ranks (binary blocks).
//
// Halving routes raw data. In the exchange over distance d a rank keeps the half of the blocks that
// its bit d selects, and sends the other half of everything it holds to its partner. After log2 p
// exchanges rank r holds block r of all ranks of its group and reduces it in rank order. Doubling
// then gathers the results along the same path.
#include <bit>

#include "libringrt/schedule/schedule.h"

namespace ringrt {
namespace {

uint16_t u16(int value) { return static_cast<uint16_t>(value); }

// A power-of-two group of ranks [first, first + ranks) that works on `blocks` blocks. Each rank
// ends with blocks/ranks of them, at its index within the group.
struct Group {
    int first = 0, ranks = 1, blocks = 1;

    [[nodiscard]] int width() const { return blocks / ranks; }
};

Ref input_of(int rank, int of, int first, int count) {
    if (rank == of) return {Place::Input, 0, u16(first), u16(count)};
    return {Place::Row, u16(of), u16(first), u16(count)};
}

// Starts with the largest distance, so that a rank always keeps one run of blocks.
void add_halving(Schedule *schedule, int rank, Group group, uint32_t slot) {
    int me = rank - group.first, low = 0, held = group.blocks;
    std::vector<int> sources{rank};  // ranks whose data is held
    for (int distance = group.ranks / 2; distance >= 1; distance /= 2, ++slot) {
        int partner = group.first + (me ^ distance);
        int half = held / 2;
        bool upper = (me & distance) != 0;
        int keep = upper ? low + half : low, pass = upper ? low : low + half;
        std::vector<Ref> outgoing, incoming;
        for (int of : sources) outgoing.push_back(input_of(rank, of, pass, half));
        std::vector<int> theirs;
        for (int of : sources) {
            int mirrored = group.first + ((of - group.first) ^ distance);
            theirs.push_back(mirrored);
            incoming.push_back({Place::Row, u16(mirrored), u16(keep), u16(half)});
        }
        uint32_t receive = schedule->expect(partner, slot, incoming);
        schedule->send(partner, slot, outgoing);
        schedule->await(receive);
        sources.insert(sources.end(), theirs.begin(), theirs.end());
        low = keep, held = half;
    }
}

void add_doubling(Schedule *schedule, int rank, Group group, uint32_t slot) {
    int me = rank - group.first, width = group.width();
    for (int distance = 1; distance < group.ranks; distance *= 2, ++slot) {
        int partner = group.first + (me ^ distance), run = distance * width;
        int mine = me / distance * run, theirs = (me ^ distance) / distance * run;
        uint32_t receive =
            schedule->expect(partner, slot, {{Place::Output, 0, u16(theirs), u16(run)}});
        schedule->send(partner, slot, {{Place::Output, 0, u16(mine), u16(run)}});
        schedule->await(receive);
    }
}

ReduceStep reduce_of(int rank, Group group, bool first, bool last) {
    int width = group.width(), low = (rank - group.first) * width;
    auto run = [&](Place place) { return Ref{place, 0, u16(low), u16(width)}; };
    ReduceStep step{
        .partial = {}, .sources = {}, .out = run(last ? Place::Output : Place::Partial)};
    if (!first) step.partial = run(Place::Partial);
    for (int r = group.first; r < group.first + group.ranks; ++r) {
        step.sources.push_back(input_of(rank, r, low, width));
    }
    return step;
}

// The owners, in `group`, of blocks [low, low + width), with the part that each owns.
struct Owner {
    int rank;
    uint16_t first, count;
};

std::vector<Owner> owners(Group group, int low, int width) {
    std::vector<Owner> found;
    int each = group.width();
    for (int at = low; at < low + width;) {
        int index = at / each, end = std::min((index + 1) * each, low + width);
        found.push_back({group.first + index, u16(at), u16(end - at)});
        at = end;
    }
    return found;
}

}  // namespace

Schedule raw_halving(int rank, int size) {
    int largest = int(std::bit_floor(unsigned(size)));
    Schedule schedule{.name = "raw-halving", .blocks = largest, .rows = size, .partials = 1};
    std::vector<Group> groups;  // largest first, in rank order
    size_t mine = 0;
    for (int first = 0; first < size;) {
        int ranks = int(std::bit_floor(unsigned(size - first)));
        if (rank >= first && rank < first + ranks) mine = groups.size();
        groups.push_back({first, ranks, largest});
        first += ranks;
    }
    constexpr uint32_t kUp = 100, kDown = 101, kDoubling = 200;
    Group group = groups[mine];
    bool first = mine == 0, last = mine + 1 == groups.size();
    int low = (rank - group.first) * group.width(), width = group.width();
    auto exchange = [&](const Group &other, uint32_t slot, Place place, bool receive) {
        std::vector<uint32_t> receives;
        for (Owner owner : owners(other, low, width)) {
            Ref part{place, 0, owner.first, owner.count};
            if (receive) receives.push_back(schedule.expect(owner.rank, slot, {part}));
            if (!receive) schedule.send(owner.rank, slot, {part});
        }
        return receives;
    };
    auto await_all = [&](const std::vector<uint32_t> &receives) {
        for (uint32_t each : receives) schedule.await(each);
    };
    auto sums =
        first ? std::vector<uint32_t>{} : exchange(groups[mine - 1], kUp, Place::Partial, true);
    auto results =
        last ? std::vector<uint32_t>{} : exchange(groups[mine + 1], kDown, Place::Output, true);
    add_halving(&schedule, rank, group, 0);
    await_all(sums);
    schedule.reduce(reduce_of(rank, group, first, last));
    if (!last) exchange(groups[mine + 1], kUp, Place::Partial, false);
    await_all(results);
    if (!first) exchange(groups[mine - 1], kDown, Place::Output, false);
    add_doubling(&schedule, rank, group, kDoubling);
    return schedule;
}

}  // namespace ringrt
