// SPDX-License-Identifier: BSD-3-Clause
// Runs a Schedule over a transport, in segments of which several are in flight.
#pragma once

#include "libringrt/base/deadline.h"
#include "libringrt/reduce/order.h"
#include "libringrt/schedule/ranges.h"
#include "libringrt/schedule/schedule.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

// The data of a schedule. Elements are divided into schedule.blocks shares; segment s of S is share
// s of each of these.
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
    // If set, replace input and output: the same bytes in several ranges. Not for allreduce, and a
    // reduction writes to one range.
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

// Calls use(data, bytes, passed) for each contiguous stretch of the `bytes` bytes from byte `first`
// on.
template <class Use>
void each_input(const Work &work, size_t first, size_t bytes, Use use) {
    if (work.inputs != nullptr) return work.inputs->each(first, bytes, use);
    // Not const: sends and receives use one type.
    if (bytes > 0) use(static_cast<std::byte *>(const_cast<void *>(work.input)) + first, bytes, 0);
}

template <class Use>
void each_output(const Work &work, size_t first, size_t bytes, Use use) {
    if (work.outputs != nullptr) return work.outputs->each(first, bytes, use);
    if (bytes > 0) use(static_cast<std::byte *>(work.output) + first, bytes, 0);
}

// Runs `sum` with this rank's input from byte `first` on as source number `mine`, whether it is
// contiguous or not. With `in_order` it adds in the work's order, otherwise in the order of the
// sources.
void reduce_with_input(const Work &work, int mine, size_t first, const Reduction &sum,
                       bool in_order = true);

// `node` is required if the schedule uses it.
Status execute(const Schedule &schedule, const Work &work, const OpHeader &call,
               const RankContext &self, Transport *transport, SharedPlaces *node = nullptr);

}  // namespace ringrt
