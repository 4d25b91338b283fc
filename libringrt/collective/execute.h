// SPDX-License-Identifier: BSD-3-Clause
// Runs a Program over a transport, segment by segment with several in flight.
#pragma once

#include "libringrt/collective/fold.h"
#include "libringrt/collective/program.h"
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
};

// Bytes of one block of one segment that pipeline well (TCP).
inline constexpr size_t kSegmentBytes = 256 << 10;

Status execute(const Program &program, const Work &work, const Call &call, const World &world,
               Transport *transport);

}  // namespace ringrt
