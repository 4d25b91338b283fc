// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/node.h"

#include <algorithm>

#include "libringrt/collective/chunks.h"

namespace ringrt {
namespace {

constexpr size_t kOneShotBytes = 8 << 10;  // of all ranks' inputs together per rank: p·n/2 folds
constexpr size_t kDirectBytes = 16 << 10;  // below, telling where the buffers are costs more
constexpr size_t kAhead = 2;               // chunks staged before the first of them is folded

const std::byte *in(const Work &work, size_t element) {
    return static_cast<const std::byte *>(work.input) + element * work.element_bytes;
}

std::byte *out(const Work &work, size_t element) {
    return static_cast<std::byte *>(work.output) + element * work.element_bytes;
}

}  // namespace

Status NodeCollectives::first_gate(size_t i, uint64_t chunk, const Call &call) {
    RINGRT_TRY(memory_.wait(NodeMemory::Staged, chunk, call));
    return i == 0 ? memory_.compare(call) : Status{};
}

template <class Stage, class Take>
Status NodeCollectives::exchange(size_t chunks, const Call &call, Stage stage, Take take) {
    for (size_t i = 0; i < chunks; ++i) {
        uint64_t chunk = next_chunk_++;
        stage(chunk, i);
        memory_.arrive(NodeMemory::Staged, chunk);
        RINGRT_TRY(first_gate(i, chunk, call));
        take(chunk, i);
        memory_.arrive(NodeMemory::Folded, chunk);
    }
    return {};
}

Status NodeCollectives::barrier(const Call &call) {
    memory_.announce(call, nullptr, nullptr, 0);
    return exchange(
        1, call, [](uint64_t, size_t) {}, [](uint64_t, size_t) {});
}

Status NodeCollectives::broadcast(void *buffer, size_t bytes, int root_index, const Call &call) {
    memory_.announce(call, nullptr, nullptr, 0);
    Chunks chunks{.count = bytes, .each = memory_.shape().chunk_bytes};
    auto *data = static_cast<std::byte *>(buffer);
    bool root = memory_.index() == root_index;
    return exchange(
        std::max<size_t>(1, chunks.number()), call,
        [&](uint64_t chunk, size_t i) {
            if (!root || bytes == 0) return;
            copy(memory_.staging(root_index, chunk), data + chunks.chunk(i).first,
                 chunks.chunk(i).count, Store::Plain);
        },
        [&](uint64_t chunk, size_t i) {
            if (root || bytes == 0) return;
            copy(data + chunks.chunk(i).first, memory_.staging(root_index, chunk),
                 chunks.chunk(i).count, Store::Plain);
        });
}

// Chunk i holds the i-th part of every rank's share, so that all ranks work on every chunk.
Status NodeCollectives::reduce_scatter(const Work &work, const Call &call) {
    memory_.announce(call, nullptr, nullptr, 0);
    int ranks = memory_.count(), me = memory_.index();
    size_t each = memory_.shape().chunk_bytes / work.element_bytes / size_t(ranks);
    size_t chunks = std::max<size_t>(1, (share(work.count, ranks, 0).count + each - 1) / each);
    auto part = [&](size_t i, int of) {
        Share whole = share(work.count, ranks, of);
        size_t first = std::min(i * each, whole.count);
        return Share{.first = whole.first + first, .count = std::min(each, whole.count - first)};
    };
    return exchange(
        chunks, call,
        [&](uint64_t chunk, size_t i) {
            for (int of = 0; of < ranks; ++of) {
                std::byte *place =
                    memory_.staging(me, chunk) + size_t(of) * each * work.element_bytes;
                if (of != me)
                    copy(place, in(work, part(i, of).first), part(i, of).count * work.element_bytes,
                         Store::Plain);
            }
        },
        [&](uint64_t chunk, size_t i) {
            std::vector<const void *> sources;
            for (int r = 0; r < ranks; ++r) {
                sources.push_back(r == me ? in(work, part(i, me).first)
                                          : memory_.staging(r, chunk) +
                                                size_t(me) * each * work.element_bytes);
            }
            fold({.dtype = work.dtype,
                  .op = work.op,
                  .ranks = work.ranks,
                  .sources = sources,
                  .out = out(work, std::min(i * each, share(work.count, ranks, me).count)),
                  .count = part(i, me).count});
        });
}

Status NodeCollectives::all_gather(const Work &work, const Call &call) {
    memory_.announce(call, nullptr, nullptr, 0);
    int ranks = memory_.count(), me = memory_.index();
    size_t each = memory_.shape().chunk_bytes / work.element_bytes;
    size_t chunks = std::max<size_t>(1, (share(work.count, ranks, 0).count + each - 1) / each);
    auto part = [&](size_t i, int of) {
        size_t whole = share(work.count, ranks, of).count, first = std::min(i * each, whole);
        return Share{.first = first, .count = std::min(each, whole - first)};
    };
    return exchange(
        chunks, call,
        [&](uint64_t chunk, size_t i) {
            Share mine = part(i, me);
            copy(memory_.staging(me, chunk), in(work, mine.first), mine.count * work.element_bytes,
                 Store::Plain);
        },
        [&](uint64_t chunk, size_t i) {
            for (int r = 0; r < ranks; ++r) {
                Share theirs = part(i, r);
                const void *from = r == me ? in(work, theirs.first) : memory_.staging(r, chunk);
                copy(out(work, share(work.count, ranks, r).first + theirs.first), from,
                     theirs.count * work.element_bytes, Store::Plain);
            }
        });
}

Status NodeCollectives::allreduce(const Work &work, const Call &call) {
    size_t bytes = work.count * work.element_bytes;
    memory_.announce(call, work.input, work.output, bytes);
    if (bytes <= kOneShotBytes) return one_shot(work, call);
    if (bytes >= kDirectBytes && memory_.shape().heap_bytes > 0) {
        bool done = false;
        RINGRT_TRY(direct(work, call, &done));
        if (done) return {};
    }
    return staged(work, call);
}

Status NodeCollectives::one_shot(const Work &work, const Call &call) {
    size_t bytes = work.count * work.element_bytes;
    return exchange(
        1, call,
        [&](uint64_t chunk, size_t) {
            copy(memory_.staging(memory_.index(), chunk), work.input, bytes, Store::Plain);
        },
        [&](uint64_t chunk, size_t) {
            std::vector<const void *> sources;
            for (int r = 0; r < memory_.count(); ++r) {
                sources.push_back(r == memory_.index() ? work.input : memory_.staging(r, chunk));
            }
            fold({.dtype = work.dtype,
                  .op = work.op,
                  .ranks = work.ranks,
                  .sources = sources,
                  .out = work.output,
                  .count = work.count});
        });
}

Status NodeCollectives::direct(const Work &work, const Call &call, bool *done) {
    uint64_t chunk = next_chunk_++;
    memory_.arrive(NodeMemory::Staged, chunk);
    RINGRT_TRY(first_gate(0, chunk, call));
    std::vector<const void *> sources;
    std::vector<void *> outs;
    size_t line = 64 / work.element_bytes;
    Share mine = Chunks::part(work.count, line, memory_.count(), memory_.index());
    for (int r = 0; r < memory_.count(); ++r) {
        auto [send, recv] = memory_.board(r).places[call.number % 4];
        if (send == kPrivate || recv == kPrivate) {
            memory_.arrive(NodeMemory::Folded, chunk);
            return {};  // all ranks see the same and come to the same answer
        }
        sources.push_back(memory_.at(send) + mine.first * work.element_bytes);
        outs.push_back(memory_.at(recv) + mine.first * work.element_bytes);
    }
    fold({.dtype = work.dtype,
          .op = work.op,
          .ranks = work.ranks,
          .sources = sources,
          .out = outs[0],
          .more_outs = std::span(outs).subspan(1),
          .count = mine.count,
          .store = Store::Plain});
    memory_.arrive(NodeMemory::Folded, chunk);
    *done = true;
    return memory_.wait(NodeMemory::Folded, chunk, call);
}

Status NodeCollectives::staged(const Work &work, const Call &call) {
    int ranks = memory_.count(), me = memory_.index();
    size_t line = 64 / work.element_bytes, size = work.element_bytes;
    Chunks chunks{.count = work.count, .each = memory_.shape().chunk_bytes / size};
    uint64_t base = next_chunk_;
    size_t number = chunks.number();
    next_chunk_ += number;
    auto stage = [&](size_t i) {
        Share whole = chunks.chunk(i), mine = Chunks::part(whole.count, line, ranks, me);
        std::byte *place = memory_.staging(me, base + i);
        const std::byte *from = in(work, whole.first);
        size_t after = mine.first + mine.count;
        copy(place, from, mine.first * size, Store::Plain);
        copy(place + after * size, from + after * size, (whole.count - after) * size, Store::Plain);
        memory_.arrive(NodeMemory::Staged, base + i);
    };
    auto fold_share = [&](size_t i) {
        Share whole = chunks.chunk(i), mine = Chunks::part(whole.count, line, ranks, me);
        std::vector<const void *> sources;
        for (int r = 0; r < ranks; ++r) {
            sources.push_back(r == me ? in(work, whole.first + mine.first)
                                      : memory_.staging(r, base + i) + mine.first * size);
        }
        void *shown = memory_.results(base + i) + mine.first * size;
        fold({.dtype = work.dtype,
              .op = work.op,
              .ranks = work.ranks,
              .sources = sources,
              .out = out(work, whole.first + mine.first),
              .more_outs = std::span(&shown, 1),
              .count = mine.count});
        memory_.arrive(NodeMemory::Folded, base + i);
    };
    auto take = [&](size_t i) {
        Share whole = chunks.chunk(i), mine = Chunks::part(whole.count, line, ranks, me);
        std::byte *to = out(work, whole.first);
        const std::byte *from = memory_.results(base + i);
        size_t after = mine.first + mine.count;
        copy(to, from, mine.first * size, Store::Plain);
        copy(to + after * size, from + after * size, (whole.count - after) * size, Store::Plain);
    };
    // While others still fold chunk i, stage the ones after it.
    for (size_t i = 0; i < std::min(kAhead, number); ++i) stage(i);
    for (size_t i = 0; i < number; ++i) {
        RINGRT_TRY(first_gate(i, base + i, call));
        fold_share(i);
        if (i >= 1) {
            RINGRT_TRY(memory_.wait(NodeMemory::Folded, base + i - 1, call));
            take(i - 1);
        }
        if (i + kAhead < number) stage(i + kAhead);
    }
    RINGRT_TRY(memory_.wait(NodeMemory::Folded, base + number - 1, call));
    take(number - 1);
    return {};
}

}  // namespace ringrt
