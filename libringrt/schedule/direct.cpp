// SPDX-License-Identifier: BSD-3-Clause
// The algorithms with direct exchanges: direct and its halves, all-to-all, gather, scatter,
// one-shot, chain, broadcast, dissemination.
#include "libringrt/schedule/schedule.h"

namespace ringrt {
namespace {

uint16_t u16(int value) { return static_cast<uint16_t>(value); }

Ref input(int first, int count = 1) { return {Place::Input, 0, u16(first), u16(count)}; }
Ref output(int first, int count = 1) { return {Place::Output, 0, u16(first), u16(count)}; }
Ref row(int of, int first, int count = 1) { return {Place::Row, u16(of), u16(first), u16(count)}; }

// Each rank receives block `rank` raw from all other ranks and reduces it to Output. The peers'
// order is rotated, so that the ranks have different first targets.
void add_reduce_scatter(Schedule *schedule, int rank, int size) {
    std::vector<uint32_t> receives;
    for (int distance = 1; distance < size; ++distance) {
        int from = (rank - distance + size) % size;
        receives.push_back(schedule->expect(from, 0, {row(from, rank)}));
    }
    for (int distance = 1; distance < size; ++distance) {
        int to = (rank + distance) % size;
        schedule->send(to, 0, {input(to)});
    }
    for (uint32_t receive : receives) schedule->await(receive);
    ReduceStep step{.partial = {}, .sources = {}, .out = output(rank), .of_all = true};
    for (int r = 0; r < size; ++r) step.sources.push_back(r == rank ? input(rank) : row(r, rank));
    schedule->reduce(std::move(step));
    schedule->rows = size;
}

void add_all_gather(Schedule *schedule, int rank, int size, uint32_t slot, Place own) {
    std::vector<uint32_t> receives;
    for (int distance = 1; distance < size; ++distance) {
        int from = (rank - distance + size) % size;
        receives.push_back(schedule->expect(from, slot, {output(from)}));
    }
    for (int distance = 1; distance < size; ++distance) {
        int to = (rank + distance) % size;
        schedule->send(to, slot, {{own, 0, u16(rank), 1}});
    }
    for (uint32_t receive : receives) schedule->await(receive);
}

}  // namespace

void Schedule::send(int peer, uint32_t slot, std::vector<Ref> refs) {
    steps.push_back({Step::Send, uint32_t(sends.size())});
    sends.push_back({peer, slot, std::move(refs)});
}

uint32_t Schedule::expect(int peer, uint32_t slot, std::vector<Ref> refs) {
    receives.push_back({peer, slot, std::move(refs)});
    return uint32_t(receives.size() - 1);
}

void Schedule::await(uint32_t receive) { steps.push_back({Step::Await, receive}); }

void Schedule::flush() { steps.push_back({Step::Flush, 0}); }

void Schedule::reduce(ReduceStep work) {
    steps.push_back({Step::Reduction, uint32_t(reduces.size())});
    reduces.push_back(std::move(work));
}

void Schedule::copy(Ref from, Ref to) {
    steps.push_back({Step::Copy, uint32_t(copies.size())});
    copies.push_back({from, to});
}

void Schedule::arrive(Gate gate) { steps.push_back({Step::Arrive, uint32_t(gate)}); }

void Schedule::pass(Gate gate) { steps.push_back({Step::Pass, uint32_t(gate)}); }

Schedule direct(int rank, int size) {
    Schedule schedule{.name = "direct", .blocks = size};
    add_reduce_scatter(&schedule, rank, size);
    add_all_gather(&schedule, rank, size, 1, Place::Output);
    return schedule;
}

Schedule reduce_scatter_schedule(int rank, int size) {
    Schedule schedule{.name = "reduce-scatter", .blocks = size};
    add_reduce_scatter(&schedule, rank, size);
    return schedule;
}

Schedule all_gather_schedule(int rank, int size) {
    Schedule schedule{.name = "all-gather", .blocks = size};
    add_all_gather(&schedule, rank, size, 0, Place::Input);
    schedule.copy(input(rank), output(rank));
    return schedule;
}

Schedule all_to_all_schedule(int rank, int size) {
    Schedule schedule{.name = "all-to-all", .blocks = size};
    std::vector<uint32_t> receives;
    for (int distance = 1; distance < size; ++distance) {
        const int from = (rank - distance + size) % size;
        receives.push_back(schedule.expect(from, 0, {output(from)}));
    }
    for (int distance = 1; distance < size; ++distance) {
        const int to = (rank + distance) % size;
        schedule.send(to, 0, {input(to)});
    }
    schedule.copy(input(rank), output(rank));
    for (uint32_t receive : receives) schedule.await(receive);
    return schedule;
}

Schedule gather_schedule(int rank, int size, int root) {
    Schedule schedule{.name = "gather", .blocks = size};
    if (rank != root) {
        schedule.send(root, 0, {input(rank)});
        return schedule;
    }
    std::vector<uint32_t> receives;
    for (int from = 0; from < size; ++from)
        if (from != root) receives.push_back(schedule.expect(from, 0, {output(from)}));
    schedule.copy(input(rank), output(rank));
    for (uint32_t receive : receives) schedule.await(receive);
    return schedule;
}

Schedule scatter_schedule(int rank, int size, int root) {
    Schedule schedule{.name = "scatter", .blocks = size};
    if (rank != root) {
        schedule.await(schedule.expect(root, 0, {output(rank)}));
        return schedule;
    }
    for (int distance = 1; distance < size; ++distance) {
        const int to = (rank + distance) % size;
        schedule.send(to, 0, {input(to)});
    }
    schedule.copy(input(rank), output(rank));
    return schedule;
}

Schedule one_shot(int rank, int size) {
    Schedule schedule{.name = "one-shot", .blocks = 1, .rows = size};
    std::vector<uint32_t> receives;
    ReduceStep step{.partial = {}, .sources = {}, .out = output(0), .of_all = true};
    for (int r = 0; r < size; ++r) {
        if (r != rank) receives.push_back(schedule.expect(r, 0, {row(r, 0)}));
        step.sources.push_back(r == rank ? input(0) : row(r, 0));
    }
    for (int distance = 1; distance < size; ++distance) {
        schedule.send((rank + distance) % size, 0, {input(0)});
    }
    for (uint32_t receive : receives) schedule.await(receive);
    schedule.flush();
    schedule.reduce(std::move(step));
    return schedule;
}

Schedule chain(int rank, int size) {
    Schedule schedule{.name = "chain", .blocks = 1, .partials = 2};
    const Ref before{Place::Partial, 0, 0, 1}, after{Place::Partial, 1, 0, 1};
    bool first = rank == 0, last = rank == size - 1;
    uint32_t sum = first ? 0 : schedule.expect(rank - 1, 0, {before});
    uint32_t result = last ? 0 : schedule.expect(rank + 1, 1, {output(0)});
    if (!first) schedule.await(sum);
    schedule.reduce({.partial = first ? std::nullopt : std::optional(before),
                     .sources = {input(0)},
                     .out = last ? output(0) : after});
    if (!last) {
        schedule.send(rank + 1, 0, {after});
        schedule.await(result);
    }
    if (!first) schedule.send(rank - 1, 1, {output(0)});
    return schedule;
}

Schedule binary_tree_broadcast(int rank, int size, int root) {
    Schedule schedule{.name = "broadcast", .blocks = 1};
    int place = (rank - root + size) % size;  // 0 is the root; i's children are 2i+1 and 2i+2
    if (place > 0) {
        int parent = ((place - 1) / 2 + root) % size;
        schedule.await(schedule.expect(parent, 0, {output(0)}));
    } else {
        schedule.copy(input(0), output(0));
    }
    for (int child = 2 * place + 1; child <= 2 * place + 2 && child < size; ++child) {
        schedule.send((child + root) % size, 0, {output(0)});
    }
    return schedule;
}

Schedule dissemination(int rank, int size) {
    Schedule schedule{.name = "dissemination", .blocks = 1};
    uint32_t slot = 0;
    for (int distance = 1; distance < size; distance *= 2, ++slot) {
        uint32_t receive = schedule.expect((rank - distance + size) % size, slot, {});
        schedule.send((rank + distance) % size, slot, {});
        schedule.await(receive);
    }
    return schedule;
}

}  // namespace ringrt
