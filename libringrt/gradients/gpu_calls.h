// SPDX-License-Identifier: BSD-3-Clause
// Turns a plan's transfers into NCCL calls, for gradients in GPU memory. PURE.
//
// NCCL needs equal blocks. Rank r owns block r, of n / ranks elements (rounded down), of an atom of
// n elements: the block is reduced there in place and gathered from there. The remainder (fewer
// than `ranks` elements) and small atoms are summed on all ranks when the transfer reduces, and are
// not gathered. A block that reduces and gathers in one is one allreduce.
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

// The calls of layout.transfers[number]. `gradients`: addresses by gradient number.
[[nodiscard]] std::vector<Gpu::Call> gpu_calls(const Layout &layout, size_t number,
                                               const std::vector<std::byte *> &gradients,
                                               const GradientSum &sum);

// Whether this transfer reduces and the next one gathers the same atoms.
[[nodiscard]] bool is_allreduce(const Layout &layout, size_t number);

}  // namespace ringrt
