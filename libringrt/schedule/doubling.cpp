// SPDX-License-Identifier: BSD-3-Clause
// Schedules for many ranks: each rank has few peers.
#include <algorithm>

#include "libringrt/schedule/binomial.h"
#include "libringrt/schedule/schedule.h"

namespace ringrt {
namespace {

uint16_t u16(int value) { return static_cast<uint16_t>(value); }

Ref run_of(Place place, int first, int count, int row = 0) {
    return {place, u16(row), u16(first), u16(count)};
}

// Output's blocks from `first` on, modulo `size`.
std::vector<Ref> round_from(int first, int count, int size) {
    first %= size;
    const int straight = std::min(count, size - first);
    std::vector<Ref> refs{run_of(Place::Output, first, straight)};
    if (count > straight) refs.push_back(run_of(Place::Output, 0, count - straight));
    return refs;
}

}  // namespace

Schedule all_gather_doubling(int rank, int size) {
    Schedule schedule{.name = "all-gather-doubling", .blocks = size, .aggregated = true};
    schedule.copy(run_of(Place::Input, rank, 1), run_of(Place::Output, rank, 1));
    uint32_t slot = 0;
    for (int distance = 1; distance < size; distance *= 2, ++slot) {
        const int count = std::min(distance, size - distance);
        const uint32_t receive = schedule.expect((rank + distance) % size, slot,
                                                 round_from(rank + distance, count, size));
        schedule.send((rank - distance + size) % size, slot, round_from(rank, count, size));
        schedule.await(receive);
    }
    return schedule;
}

Schedule binomial_broadcast(int rank, int size, int root) {
    Schedule schedule{.name = "binomial-broadcast", .blocks = 1};
    const Binomial tree((rank - root + size) % size, size);
    const Ref result = run_of(Place::Output, 0, 1);
    if (tree.is_root())
        schedule.copy(run_of(Place::Input, 0, 1), result);
    else
        schedule.await(schedule.expect((tree.parent() + root) % size, 0, {result}));
    tree.each_child([&](int child, int) { schedule.send((child + root) % size, 0, {result}); });
    return schedule;
}

Schedule reduce_scatter_chain(int rank, int size) {
    Schedule schedule{.name = "reduce-scatter-chain",
                      .blocks = size,
                      .rows = 1,
                      .partials = 2,
                      .aggregated = true};
    const Ref before = run_of(Place::Partial, 0, size, 0),
              after = run_of(Place::Partial, 0, size, 1);
    // The last rank is the tree's root: places count downwards.
    const Binomial tree(size - 1 - rank, size);
    auto results = [&](int place, int end) { return run_of(Place::Row, size - end, end - place); };
    const bool first = rank == 0, last = tree.is_root();
    const uint32_t sums = first ? 0 : schedule.expect(rank - 1, 0, {before});
    const uint32_t returned =
        last ? 0
             : schedule.expect(size - 1 - tree.parent(), 1, {results(size - 1 - rank, tree.end())});
    if (!first) schedule.await(sums);
    schedule.reduce({.partial = first ? std::nullopt : std::optional(before),
                     .sources = {run_of(Place::Input, 0, size)},
                     .out = last ? run_of(Place::Row, 0, size) : after});
    if (!last) {
        schedule.send(rank + 1, 0, {after});
        schedule.await(returned);
    }
    tree.each_child(
        [&](int child, int end) { schedule.send(size - 1 - child, 1, {results(child, end)}); });
    schedule.copy(run_of(Place::Row, rank, 1), run_of(Place::Output, rank, 1));
    return schedule;
}

}  // namespace ringrt
