// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a communicator must have alike in their environment.
#pragma once

#include <cstdint>

namespace ringrt {

// A code of RINGRT_ORDER, RINGRT_ALGORITHM and RINGRT_GPU, below 2^16. Ranks with another one would
// meet as RINGRT_MISMATCH in their first reduction.
[[nodiscard]] uint32_t common_settings();

}  // namespace ringrt
