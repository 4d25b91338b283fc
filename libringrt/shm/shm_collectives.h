// SPDX-License-Identifier: BSD-3-Clause
// Collectives within one node, over ShmSegment: no messages, each rank reads the other ranks' data.
//
//   one-shot   two ranks, or small buffers. Per piece: each rank stages its whole input, and every
//              rank reduces everything. One gate per piece.
//   staged     private buffers. Per piece: each rank stages what other ranks will reduce,
//              reduces its own share of the piece from all stagings to the results, and copies
//              the other shares from there. Two gates per piece, and 2/p of the bytes to read.
//   direct     all buffers from alloc(): each rank reduces its share of all ranks' buffers in
//              place, and writes it to all of them. 2·p·n bytes of memory traffic in total, the
//              minimum for buffers in place.
//
// While other ranks are still at piece i, the next two pieces are staged. A slot may be reused for
// this reason: a rank stages piece k only after it has reduced piece k-2. Having passed the staged
// gate of k-2 means that all ranks have reduced up to k-4, whose slot k takes (there are at least
// four). The same holds for the results: the reduced gate of k-3 is passed before k is staged.
#pragma once

#include "libringrt/schedule/executor.h"
#include "libringrt/shm/chunks.h"
#include "libringrt/shm/huge_pages.h"
#include "libringrt/shm/segment.h"
#include "libringrt/shm/store_choice.h"

namespace ringrt {

class ShmCollectives {
  public:
    explicit ShmCollectives(ShmSegment &memory) : memory_(memory) {}

    Status allreduce(const Work &work, const OpHeader &call);
    Status reduce_scatter(const Work &work,
                          const OpHeader &call);                // output: own share only
    Status all_gather(const Work &work, const OpHeader &call);  // input: own share only
    Status broadcast(void *buffer, size_t bytes, int root_index, const OpHeader &call);
    Status barrier(const OpHeader &call);
    // Moves blocks between ranks; each rank's count() blocks are work.count elements together. All
    // to all, or only from or to one rank (-1: all); a rank with a single block has it at the start
    // of its buffer.
    Status move_blocks(const Work &work, int only_from, int only_to, const OpHeader &call);
    // For other users of this node's chunks (hierarchical.h).
    [[nodiscard]] uint64_t *next_chunk() { return &next_chunk_; }

  private:
    Status one_shot(const Work &work, const OpHeader &call);
    Status staged(const Work &work, const OpHeader &call);
    Status direct(const Work &work, const OpHeader &call, bool *done);
    void reduce_piece(const Work &work, Share piece, Share mine, uint64_t chunk, StoreHint store);
    [[nodiscard]] bool all_shared(const OpHeader &call) const;
    [[nodiscard]] bool reduce_all_ourselves(size_t bytes) const;
    [[nodiscard]] size_t piece_bytes() const;
    [[nodiscard]] StoreHint staging_store(size_t bytes) const;
    // One staged gate per chunk: for each i of `chunks` calls stage(chunk, i), passes the gate, and
    // calls take(chunk, i).
    template <class Stage, class Take>
    Status exchange(size_t chunks, const OpHeader &call, Stage stage, Take take);
    Status first_gate(size_t i, uint64_t chunk, const OpHeader &call) {
        RINGRT_TRY(memory_.wait(ShmSegment::Staged, chunk, call));
        return i == 0 ? memory_.compare(call) : Status{};
    }

    ShmSegment &memory_;
    uint64_t next_chunk_ = 0;
    // Ways to stage: plain, streaming. Ways to write reduced shares to all ranks' buffers: plain,
    // streaming to the others' buffers, streaming to all.
    StoreChoice to_staging_{2, false}, to_all_{3, true};
    HugePages huge_pages_;
    // By power of two of bytes: the last allreduce had private buffers, so skip the gate that
    // detects them.
    std::array<bool, 65> was_private_{};
    // Of the current reduction.
    std::vector<const void *> sources_;
    std::vector<void *> others_;
};

template <class Stage, class Take>
Status ShmCollectives::exchange(size_t chunks, const OpHeader &call, Stage stage, Take take) {
    for (size_t i = 0; i < chunks; ++i) {
        uint64_t chunk = next_chunk_++;
        stage(chunk, i);
        memory_.arrive(ShmSegment::Staged, chunk);
        RINGRT_TRY(first_gate(i, chunk, call));
        take(chunk, i);
        memory_.arrive(ShmSegment::Reduced, chunk);
    }
    return {};
}

}  // namespace ringrt
