// SPDX-License-Identifier: BSD-3-Clause
// Runs a Program over a transport, segment by segment with several in flight.
#pragma once

#include "libringrt/collective/fold.h"
#include "libringrt/collective/program.h"
#include "libringrt/collective/ranges.h"
#include "libringrt/transport/patience.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

// What a program works on. Elements are cut into program.blocks shares; segment s of S is share s
// of each of these.
struct Work {
    const void *input = nullptr;
    void *output = nullptr;
    size_t count = 0;  // elements
    size_t element_bytes = 4;
    ringrt_dtype_t dtype = RINGRT_FLOAT32;  // of folds
    ringrt_op_t op = RINGRT_SUM;
    int ranks = 1;
    // Input or Output holds only this block, at its start (-1: all blocks).
    int only_input_block = -1, only_output_block = -1;
    // Where set, instead of input and output: the same bytes in several places. Not for allreduce,
    // and folds go to one place.
    const Ranges *inputs = nullptr, *outputs = nullptr;
};

inline Work bytes_of(const void *send, void *recv, size_t bytes, int ranks) {
    return {.input = send,
            .output = recv,
            .count = bytes,
            .element_bytes = 1,
            .dtype = RINGRT_UINT8,
            .ranks = ranks};
}

inline Work sum_of(const void *send, void *recv, size_t count, ringrt_dtype_t dtype, ringrt_op_t op,
                   int ranks) {
    return {.input = send,
            .output = recv,
            .count = count,
            .element_bytes = dtype_bytes(dtype),
            .dtype = dtype,
            .op = op,
            .ranks = ranks};
}

// use(data, bytes, passed) for each stretch of `bytes` from byte `first` on.
template <class Use>
void each_input(const Work &work, size_t first, size_t bytes, Use use) {
    if (work.inputs != nullptr) return work.inputs->each(first, bytes, use);
    // Sends read through the same type as receives write.
    if (bytes > 0) use(static_cast<std::byte *>(const_cast<void *>(work.input)) + first, bytes, 0);
}

template <class Use>
void each_output(const Work &work, size_t first, size_t bytes, Use use) {
    if (work.outputs != nullptr) return work.outputs->each(first, bytes, use);
    if (bytes > 0) use(static_cast<std::byte *>(work.output) + first, bytes, 0);
}

// The fold of `work.ranks` sources to one place; that of this rank, `mine`, is `count` elements
// from byte `first` of the input on, the others lie in `sources`.
void fold_with_input(const Work &work, int mine, size_t first, size_t count,
                     std::vector<const void *> sources, std::byte *out);

Status execute(const Program &program, const Work &work, const Call &call, const World &world,
               Transport *transport);

}  // namespace ringrt
