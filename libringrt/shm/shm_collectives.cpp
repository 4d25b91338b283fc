// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/shm/shm_collectives.h"

#include <algorithm>
#include <bit>

namespace ringrt {
namespace {

// Extra bytes that a rank can read in the time of the gate that one-shot saves: a few hundred
// nanoseconds, or some tens of microseconds if ranks share a core.
constexpr size_t kOneShotExtraBytes = 8 << 10, kOneShotExtraCrowded = 128 << 10;
// Fits in the second-level cache.
constexpr size_t kPieceBytes = 128 << 10, kPieceBytesCrowded = 256 << 10;
constexpr size_t kStreamBytes = 2048;      // below, no streaming stores
constexpr size_t kDirectBytes = 16 << 10;  // below, publishing the buffers costs more than it saves
constexpr size_t kAhead = 2;               // chunks staged before the first of them is reduced

const std::byte *in(const Work &work, size_t element) {
    return static_cast<const std::byte *>(work.input) + element * work.element_bytes;
}

std::byte *out(const Work &work, size_t element) {
    return static_cast<std::byte *>(work.output) + element * work.element_bytes;
}

void copy_in(const Work &work, std::byte *to, Share from) {
    each_input(work, from.first * work.element_bytes, from.count * work.element_bytes,
               [&](const std::byte *data, size_t bytes, size_t passed) {
                   copy(to + passed, data, bytes, StoreHint::Cached);
               });
}

void copy_out(const Work &work, Share to, const std::byte *from) {
    each_output(work, to.first * work.element_bytes, to.count * work.element_bytes,
                [&](std::byte *data, size_t bytes, size_t passed) {
                    copy(data, from + passed, bytes, StoreHint::Cached);
                });
}

// The part of a piece that other ranks reduce: all but `mine`.
void copy_others(std::byte *to, const std::byte *from, Share piece, Share mine, size_t size,
                 StoreHint store) {
    const size_t after = mine.first + mine.count;
    copy(to, from, mine.first * size, store);
    copy(to + after * size, from + after * size, (piece.count - after) * size, store);
}

}  // namespace

size_t ShmCollectives::piece_bytes() const {
    // Each rank still works on whole pages of a piece. Switching ranks on a core costs more.
    size_t wanted = memory_.oversubscribed()
                        ? kPieceBytesCrowded
                        : kPieceBytes * size_t(std::max(1, memory_.count() / 2));
    return std::min(wanted, memory_.shape().chunk_bytes);
}

StoreHint ShmCollectives::staging_store(size_t bytes) const {
    return bytes >= kStreamBytes && to_staging_.best(bytes) == 1 ? StoreHint::NonTemporal
                                                                 : StoreHint::Cached;
}

Status ShmCollectives::barrier(const OpHeader &call) {
    memory_.publish_op(call);
    return exchange(
        1, call, [](uint64_t, size_t) {}, [](uint64_t, size_t) {});
}

Status ShmCollectives::broadcast(void *buffer, size_t bytes, int root_index, const OpHeader &call) {
    memory_.publish_op(call);
    Chunks chunks{.count = bytes, .each = memory_.shape().chunk_bytes};
    auto *data = static_cast<std::byte *>(buffer);
    bool root = memory_.index() == root_index;
    return exchange(
        std::max<size_t>(1, chunks.number()), call,
        [&](uint64_t chunk, size_t i) {
            if (!root || bytes == 0) return;
            copy(memory_.staging(root_index, chunk), data + chunks.chunk(i).first,
                 chunks.chunk(i).count, StoreHint::Cached);
        },
        [&](uint64_t chunk, size_t i) {
            if (root || bytes == 0) return;
            copy(data + chunks.chunk(i).first, memory_.staging(root_index, chunk),
                 chunks.chunk(i).count, StoreHint::Cached);
        });
}

// Chunk i holds the i-th part of every rank's share, so that all ranks work on every chunk.
Status ShmCollectives::reduce_scatter(const Work &work, const OpHeader &call) {
    memory_.publish_op(call);
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
                if (of != me) copy_in(work, place, part(i, of));
            }
        },
        [&](uint64_t chunk, size_t i) {
            sources_.clear();
            for (int r = 0; r < ranks; ++r) {
                sources_.push_back(memory_.staging(r, chunk) +
                                   size_t(me) * each * work.element_bytes);
            }
            reduce_with_input(
                work, me, part(i, me).first * work.element_bytes,
                {.dtype = work.dtype,
                 .op = work.op,
                 .ranks = work.ranks,
                 .sources = sources_,
                 .out = out(work, std::min(i * each, share(work.count, ranks, me).count)),
                 .count = part(i, me).count});
        });
}

Status ShmCollectives::all_gather(const Work &work, const OpHeader &call) {
    memory_.publish_op(call);
    int ranks = memory_.count(), me = memory_.index();
    size_t each = memory_.shape().chunk_bytes / work.element_bytes;
    size_t chunks = std::max<size_t>(1, (share(work.count, ranks, 0).count + each - 1) / each);
    auto part = [&](size_t i, int of) {
        size_t whole = share(work.count, ranks, of).count, first = std::min(i * each, whole);
        return Share{.first = first, .count = std::min(each, whole - first)};
    };
    return exchange(
        chunks, call,
        [&](uint64_t chunk, size_t i) { copy_in(work, memory_.staging(me, chunk), part(i, me)); },
        [&](uint64_t chunk, size_t i) {
            for (int r = 0; r < ranks; ++r) {
                Share theirs = part(i, r);
                const size_t first = share(work.count, ranks, r).first + theirs.first;
                copy_out(work, {first, theirs.count}, memory_.staging(r, chunk));
            }
        });
}

// Call it after the call's first gate; the result is the same on all ranks.
bool ShmCollectives::all_shared(const OpHeader &call) const {
    for (int r = 0; r < memory_.count(); ++r) {
        const auto &place = memory_.control_block(r).places[call.number % 2];
        if (place.send == kPrivate || place.recv == kPrivate) return false;
    }
    return true;
}

// With one-shot a rank reads (p-1)·n bytes of others, otherwise 2·(p-1)/p·n.
bool ShmCollectives::reduce_all_ourselves(size_t bytes) const {
    auto p = size_t(memory_.count());
    size_t extra = memory_.oversubscribed() ? kOneShotExtraCrowded : kOneShotExtraBytes;
    return p == 2 || bytes <= extra * p / ((p - 1) * (p - 2));
}

Status ShmCollectives::allreduce(const Work &work, const OpHeader &call) {
    size_t bytes = work.count * work.element_bytes;
    bool large = bytes >= kDirectBytes && memory_.shape().heap_bytes > 0;
    bool &was_private = was_private_[size_t(std::bit_width(bytes))];
    if (large && !was_private) {
        bool done = false;
        RINGRT_TRY(direct(work, call, &done));
        if (done) return {};
    }
    huge_pages_.note(work.input, bytes);
    if (work.output != work.input) huge_pages_.note(work.output, bytes);
    RINGRT_TRY(reduce_all_ourselves(bytes) ? one_shot(work, call) : staged(work, call));
    was_private = large && !all_shared(call);
    return {};
}

Status ShmCollectives::one_shot(const Work &work, const OpHeader &call) {
    size_t size = work.element_bytes, bytes = work.count * size;
    Chunks pieces{.count = work.count, .each = piece_bytes() / size};
    size_t number = std::max<size_t>(1, pieces.number());
    uint64_t base = next_chunk_;
    next_chunk_ += number;
    bool choosing = bytes >= kStreamBytes;
    StoreHint store =
        choosing && to_staging_.begin(bytes) == 1 ? StoreHint::NonTemporal : StoreHint::Cached;
    auto stage = [&](size_t i) {
        Share part = pieces.chunk(i);
        copy(memory_.staging(memory_.index(), base + i), in(work, part.first), part.count * size,
             store);
        // The call shares a cache line with the arrival counter, so it is written just before.
        if (i == 0) memory_.publish_op(call, work.input, work.output, bytes);
        memory_.arrive_and_wait_soon(ShmSegment::Staged, base + i);
    };
    for (size_t i = 0; i < std::min(kAhead, number); ++i) stage(i);
    for (size_t i = 0; i < number; ++i) {
        RINGRT_TRY(first_gate(i, base + i, call));
        if (i == 0 && number > 1) to_staging_.restart();
        Share part = pieces.chunk(i);
        sources_.clear();
        for (int r = 0; r < memory_.count(); ++r) {
            sources_.push_back(r == memory_.index() ? in(work, part.first)
                                                    : memory_.staging(r, base + i));
        }
        reduce_in_order(work.order,
                        {.dtype = work.dtype,
                         .op = work.op,
                         .ranks = work.ranks,
                         .sources = sources_,
                         .out = out(work, part.first),
                         .count = part.count},
                        part.first, work.count);
        if (i + kAhead < number) stage(i + kAhead);
    }
    if (choosing) to_staging_.end();
    return {};
}

Status ShmCollectives::direct(const Work &work, const OpHeader &call, bool *done) {
    size_t bytes = work.count * work.element_bytes;
    int me = memory_.index();
    uint64_t chunk = next_chunk_++;
    memory_.publish_op(call, work.input, work.output, bytes);
    memory_.arrive_and_wait_soon(ShmSegment::Staged, chunk);
    RINGRT_TRY(first_gate(0, chunk, call));
    if (!all_shared(call)) return {};
    Share mine = Chunks::part(work.count, 64 / work.element_bytes, memory_.count(), me);
    sources_.clear(), others_.clear();
    for (int r = 0; r < memory_.count(); ++r) {
        auto [send, recv] = memory_.control_block(r).places[call.number % 2];
        sources_.push_back(memory_.at(send) + mine.first * work.element_bytes);
        if (r != me) others_.push_back(memory_.at(recv) + mine.first * work.element_bytes);
    }
    int way = to_all_.begin(bytes);
    reduce_in_order(work.order,
                    {.dtype = work.dtype,
                     .op = work.op,
                     .ranks = work.ranks,
                     .sources = sources_,
                     .out = out(work, mine.first),
                     .more_outs = others_,
                     .count = mine.count,
                     .store = way == 2 ? StoreHint::NonTemporal : StoreHint::Cached,
                     .more_store = way >= 1 ? StoreHint::NonTemporal : StoreHint::Cached},
                    mine.first, work.count);
    memory_.arrive_and_wait_soon(ShmSegment::Reduced, chunk);
    *done = true;
    RINGRT_TRY(memory_.wait(ShmSegment::Reduced, chunk, call));
    to_all_.end();
    return {};
}

// Reduces `mine` of a piece that all have staged, to the results.
void ShmCollectives::reduce_piece(const Work &work, Share piece, Share mine, uint64_t chunk,
                                  StoreHint store) {
    const size_t size = work.element_bytes;
    sources_.clear();
    for (int r = 0; r < memory_.count(); ++r) {
        sources_.push_back(r == memory_.index() ? in(work, piece.first + mine.first)
                                                : memory_.staging(r, chunk) + mine.first * size);
    }
    void *shown = memory_.results(chunk) + mine.first * size;
    reduce_in_order(work.order,
                    {.dtype = work.dtype,
                     .op = work.op,
                     .ranks = work.ranks,
                     .sources = sources_,
                     .out = out(work, piece.first + mine.first),
                     .more_outs = std::span(&shown, 1),
                     .count = mine.count,
                     .more_store = store},
                    piece.first + mine.first, work.count);
    memory_.arrive_and_wait_soon(ShmSegment::Reduced, chunk);
}

Status ShmCollectives::staged(const Work &work, const OpHeader &call) {
    int me = memory_.index();
    size_t size = work.element_bytes;
    Chunks chunks{.count = work.count, .each = piece_bytes() / size};
    StoreHint store =
        to_staging_.begin(work.count * size) == 1 ? StoreHint::NonTemporal : StoreHint::Cached;
    uint64_t base = next_chunk_;
    size_t number = chunks.number();
    next_chunk_ += number;
    auto mine_of = [&](Share piece) {
        return Chunks::part(piece.count, 64 / size, memory_.count(), me);
    };
    auto stage = [&](size_t i) {
        Share piece = chunks.chunk(i);
        copy_others(memory_.staging(me, base + i), in(work, piece.first), piece, mine_of(piece),
                    size, store);
        if (i == 0) memory_.publish_op(call, work.input, work.output, work.count * size);
        memory_.arrive_and_wait_soon(ShmSegment::Staged, base + i);
    };
    auto take = [&](size_t i) {
        Share piece = chunks.chunk(i);
        copy_others(out(work, piece.first), memory_.results(base + i), piece, mine_of(piece), size,
                    StoreHint::Cached);
    };
    // While others still reduce chunk i, stage the next ones.
    for (size_t i = 0; i < std::min(kAhead, number); ++i) stage(i);
    for (size_t i = 0; i < number; ++i) {
        RINGRT_TRY(first_gate(i, base + i, call));
        if (i == 0) to_staging_.restart();
        reduce_piece(work, chunks.chunk(i), mine_of(chunks.chunk(i)), base + i, store);
        if (i >= 1) {
            RINGRT_TRY(memory_.wait(ShmSegment::Reduced, base + i - 1, call));
            take(i - 1);
        }
        if (i + kAhead < number) stage(i + kAhead);
    }
    RINGRT_TRY(memory_.wait(ShmSegment::Reduced, base + number - 1, call));
    take(number - 1);
    to_staging_.end();
    return {};
}

}  // namespace ringrt
