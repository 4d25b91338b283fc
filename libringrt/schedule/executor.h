// SPDX-License-Identifier: BSD-3-Clause
// Runs a Schedule over a transport, segment by segment with several in flight.
#pragma once

#include "libringrt/base/deadline.h"
#include "libringrt/reduce/order.h"
#include "libringrt/schedule/ranges.h"
#include "libringrt/schedule/schedule.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

// What a schedule works on. Elements are cut into schedule.blocks shares; segment s of S is share s
// of each of these.
struct Work {
    const void *input = nullptr;
    void *output = nullptr;
    size_t count = 0;  // elements
    size_t element_bytes = 4;
    ringrt_dtype_t dtype = RINGRT_FLOAT32;  // of reductions
    ringrt_op_t op = RINGRT_SUM;
    int ranks = 1;
    Order order = Order::Rank;
    // Input or Output holds only this block, at its start (-1: all blocks).
    int only_input_block = -1, only_output_block = -1;
    // Where set, instead of input and output: the same bytes in several places. Not for allreduce,
    // and a reduction goes to one place.
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

// `sum` with this rank's input, which begins at byte `first` of the work's, as its source `mine`,
// wherever it lies. With `in_order` in the order of the work, else as the sources stand.
void reduce_with_input(const Work &work, int mine, size_t first, const Reduction &sum,
                       bool in_order = true);

// `node`: needed where the schedule uses it.
Status execute(const Schedule &schedule, const Work &work, const OpHeader &call,
               const RankContext &self, Transport *transport, SharedPlaces *node = nullptr);

}  // namespace ringrt
