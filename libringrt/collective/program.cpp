// SPDX-License-Identifier: BSD-3-Clause
// The algorithms with direct exchanges: pairwise and its halves, one-shot, chain, tree,
// dissemination.
#include "libringrt/collective/program.h"

namespace ringrt {
namespace {

uint16_t u16(int value) { return static_cast<uint16_t>(value); }

Ref input(int first, int count = 1) { return {Place::Input, 0, u16(first), u16(count)}; }
Ref output(int first, int count = 1) { return {Place::Output, 0, u16(first), u16(count)}; }
Ref row(int of, int first, int count = 1) { return {Place::Row, u16(of), u16(first), u16(count)}; }

// Everybody gets everybody else's raw block `rank` and folds it to Output. Peers in rotated order,
// so that no rank is everybody's first target.
void add_scatter_reduce(Program *program, int rank, int size) {
    std::vector<uint32_t> receives;
    for (int distance = 1; distance < size; ++distance) {
        int from = (rank - distance + size) % size;
        receives.push_back(program->expect(from, 0, {row(from, rank)}));
    }
    for (int distance = 1; distance < size; ++distance) {
        int to = (rank + distance) % size;
        program->send(to, 0, {input(to)});
    }
    for (uint32_t receive : receives) program->await(receive);
    ProgramFold fold{.partial = {}, .sources = {}, .out = output(rank)};
    for (int r = 0; r < size; ++r) fold.sources.push_back(r == rank ? input(rank) : row(r, rank));
    program->fold(std::move(fold));
    program->rows = size;
}

void add_gather(Program *program, int rank, int size, uint32_t slot, Place own) {
    std::vector<uint32_t> receives;
    for (int distance = 1; distance < size; ++distance) {
        int from = (rank - distance + size) % size;
        receives.push_back(program->expect(from, slot, {output(from)}));
    }
    for (int distance = 1; distance < size; ++distance) {
        int to = (rank + distance) % size;
        program->send(to, slot, {{own, 0, u16(rank), 1}});
    }
    for (uint32_t receive : receives) program->await(receive);
}

}  // namespace

void Program::send(int peer, uint32_t slot, std::vector<Ref> refs) {
    steps.push_back({Step::Send, uint32_t(sends.size())});
    sends.push_back({peer, slot, std::move(refs)});
}

uint32_t Program::expect(int peer, uint32_t slot, std::vector<Ref> refs) {
    receives.push_back({peer, slot, std::move(refs)});
    return uint32_t(receives.size() - 1);
}

void Program::await(uint32_t receive) { steps.push_back({Step::Await, receive}); }

void Program::flush() { steps.push_back({Step::Flush, 0}); }

void Program::fold(ProgramFold work) {
    steps.push_back({Step::Fold, uint32_t(folds.size())});
    folds.push_back(std::move(work));
}

void Program::copy(Ref from, Ref to) {
    steps.push_back({Step::Copy, uint32_t(copies.size())});
    copies.push_back({from, to});
}

Program pairwise(int rank, int size) {
    Program program{.name = "pairwise", .blocks = size};
    add_scatter_reduce(&program, rank, size);
    add_gather(&program, rank, size, 1, Place::Output);
    return program;
}

Program scatter_reduce(int rank, int size) {
    Program program{.name = "scatter-reduce", .blocks = size};
    add_scatter_reduce(&program, rank, size);
    return program;
}

Program gather(int rank, int size) {
    Program program{.name = "gather", .blocks = size};
    add_gather(&program, rank, size, 0, Place::Input);
    program.copy(input(rank), output(rank));
    return program;
}

Program one_shot(int rank, int size) {
    Program program{.name = "one-shot", .blocks = 1, .rows = size};
    std::vector<uint32_t> receives;
    ProgramFold fold{.partial = {}, .sources = {}, .out = output(0)};
    for (int r = 0; r < size; ++r) {
        if (r != rank) receives.push_back(program.expect(r, 0, {row(r, 0)}));
        fold.sources.push_back(r == rank ? input(0) : row(r, 0));
    }
    for (int distance = 1; distance < size; ++distance) {
        program.send((rank + distance) % size, 0, {input(0)});
    }
    for (uint32_t receive : receives) program.await(receive);
    program.flush();
    program.fold(std::move(fold));
    return program;
}

Program chain(int rank, int size) {
    Program program{.name = "chain", .blocks = 1, .partials = 2};
    const Ref before{Place::Partial, 0, 0, 1}, after{Place::Partial, 1, 0, 1};
    bool first = rank == 0, last = rank == size - 1;
    uint32_t sum = first ? 0 : program.expect(rank - 1, 0, {before});
    uint32_t result = last ? 0 : program.expect(rank + 1, 1, {output(0)});
    if (!first) program.await(sum);
    program.fold({.partial = first ? std::nullopt : std::optional(before),
                  .sources = {input(0)},
                  .out = last ? output(0) : after});
    if (!last) {
        program.send(rank + 1, 0, {after});
        program.await(result);
    }
    if (!first) program.send(rank - 1, 1, {output(0)});
    return program;
}

Program tree_broadcast(int rank, int size, int root) {
    Program program{.name = "tree", .blocks = 1};
    int place = (rank - root + size) % size;  // 0 is the root; i's children are 2i+1 and 2i+2
    if (place > 0) {
        int parent = ((place - 1) / 2 + root) % size;
        program.await(program.expect(parent, 0, {output(0)}));
    } else {
        program.copy(input(0), output(0));
    }
    for (int child = 2 * place + 1; child <= 2 * place + 2 && child < size; ++child) {
        program.send((child + root) % size, 0, {output(0)});
    }
    return program;
}

Program dissemination(int rank, int size) {
    Program program{.name = "dissemination", .blocks = 1};
    uint32_t slot = 0;
    for (int distance = 1; distance < size; distance *= 2, ++slot) {
        uint32_t receive = program.expect((rank - distance + size) % size, slot, {});
        program.send((rank + distance) % size, slot, {});
        program.await(receive);
    }
    return program;
}

}  // namespace ringrt
