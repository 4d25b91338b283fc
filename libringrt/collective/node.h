// SPDX-License-Identifier: BSD-3-Clause
// Collectives within one node, over NodeMemory: no messages, everybody looks at everybody's data.
//
//   one-shot   small: each rank stages its whole input; all fold all of it themselves. One gate.
//   staged     private buffers: a chunk at a time, each rank stages what others will fold, folds
//   its
//              own share of the chunk from all stagings to where all can read it, and copies the
//              other shares from there. Staging stays in the caches while the next chunk is staged.
//   direct     all buffers from alloc(): each rank folds its share of all ranks' buffers in place,
//   and
//              writes it to all of them. 2·p·n bytes of memory traffic in all, the floor in place.
//
// When may a slot be used again? A rank stages chunk k only after it has taken chunk k-slots, and
// after the folded gate of k-slots (or, one-shot, the staged gate of a later chunk) has told that
// all others need nothing of that slot any more.
#pragma once

#include "libringrt/collective/execute.h"
#include "libringrt/transport/shared_memory.h"

namespace ringrt {

class NodeCollectives {
  public:
    explicit NodeCollectives(NodeMemory &memory) : memory_(memory) {}

    Status allreduce(const Work &work, const Call &call);
    Status reduce_scatter(const Work &work, const Call &call);  // output: own share, at its start
    Status all_gather(const Work &work, const Call &call);      // input: own share, at its start
    Status broadcast(void *buffer, size_t bytes, int root_index, const Call &call);
    Status barrier(const Call &call);
    // For what else works on this node's chunks (across.h).
    [[nodiscard]] uint64_t *next_chunk() { return &next_chunk_; }

  private:
    Status one_shot(const Work &work, const Call &call);
    Status staged(const Work &work, const Call &call);
    Status direct(const Work &work, const Call &call, bool *done);
    // One staged gate per chunk: `stage(chunk, i)`, the gate, `take(chunk, i)`, for i of `chunks`.
    template <class Stage, class Take>
    Status exchange(size_t chunks, const Call &call, Stage stage, Take take);
    Status first_gate(size_t i, uint64_t chunk, const Call &call);

    NodeMemory &memory_;
    uint64_t next_chunk_ = 0;
};

}  // namespace ringrt
