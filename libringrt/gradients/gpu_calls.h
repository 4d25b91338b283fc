// SPDX-License-Identifier: BSD-3-Clause
// How a plan's transfers become calls of NCCL, for gradients in GPU memory. PURE.
//
// NCCL wants equal blocks. Of an atom of n elements, block r of n / ranks (rounded down) is rank
// r's: it is reduced there in place, and gathered from there. What is left, less than `ranks`
// elements, and whole atoms that are small are summed when the transfer reduces, at all ranks; then
// nothing is to gather. A block of the plan that reduces and gathers in one is one allreduce.
#pragma once

#include <vector>

#include "libringrt/gpu/gpu.h"
#include "libringrt/gradients/transfer_layout.h"

namespace ringrt {

struct GradientSum {
    ringrt_dtype_t dtype = RINGRT_FLOAT32;
    ringrt_op_t op = RINGRT_SUM;
    int rank = 0, ranks = 1;
};

// Of layout.transfers[number]; where each gradient lies, by its number.
[[nodiscard]] std::vector<Gpu::Call> gpu_calls(const Layout &layout, size_t number,
                                               const std::vector<std::byte *> &gradients,
                                               const GradientSum &sum);

// Whether the transfer reduces, and the next one gathers the same.
[[nodiscard]] bool is_allreduce(const Layout &layout, size_t number);

}  // namespace ringrt
