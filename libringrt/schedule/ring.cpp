// SPDX-License-Identifier: BSD-3-Clause
// The ring: each rank sends to the next rank and receives from the previous one.
// clang-format off
//   rank            0            1            2            3
//   t = 0 sends  block 3      block 0      block 1      block 2     raw
//   t = 1        block 2      block 3      block 0      block 1     a sum of two
//   t = 2        block 1      block 2      block 3      block 0     a sum of three
// clang-format on
//
// Then rank r has block r's sum, and each step of the all-gather forwards what the previous step
// received. If ranks are assigned to nodes in blocks, a node sends to one other node and receives
// from one.
#include "libringrt/schedule/schedule.h"

namespace ringrt {

Schedule ring(int rank, int size) {
    Schedule schedule{.name = "ring", .blocks = size, .rows = 1, .partials = 1};
    const int before = (rank - 1 + size) % size, after = (rank + 1) % size, steps = size - 1;
    auto block = [&](Place place, int number) {
        return Ref{place, 0, uint16_t((number + 2 * size) % size), 1};
    };
    std::vector<uint32_t> sums, results;
    for (int t = 0; t < steps; ++t) {
        const Place came = t == 0 ? Place::Row : Place::Partial;
        sums.push_back(schedule.expect(before, uint32_t(t), {block(came, rank - 2 - t)}));
    }
    for (int t = 0; t < steps; ++t) {
        results.push_back(
            schedule.expect(before, uint32_t(steps + t), {block(Place::Output, rank - 1 - t)}));
    }
    for (int t = 0; t < steps; ++t) {
        const Place goes = t == 0 ? Place::Input : Place::Partial;
        schedule.send(after, uint32_t(t), {block(goes, rank - 1 - t)});
        schedule.await(sums[size_t(t)]);
        const int number = rank - 2 - t;
        const Ref mine = block(Place::Input, number);
        ReduceStep step{.partial = {}, .sources = {}, .out = block(Place::Partial, number)};
        if (t == 0) step.sources = {block(Place::Row, number), mine};
        if (t > 0) step.partial = block(Place::Partial, number), step.sources = {mine};
        if (t == steps - 1) step.out = block(Place::Output, number);
        schedule.reduce(std::move(step));
    }
    for (int t = 0; t < steps; ++t) {
        schedule.send(after, uint32_t(steps + t), {block(Place::Output, rank - t)});
        schedule.await(results[size_t(t)]);
    }
    if (size == 1) schedule.copy(block(Place::Input, 0), block(Place::Output, 0));
    return schedule;
}

}  // namespace ringrt
