// SPDX-License-Identifier: BSD-3-Clause
// Detects whether a pointer is in GPU memory. Queries NVIDIA's driver in every build; needs neither
// CUDA's headers nor its libraries to compile.
#pragma once

namespace ringrt {

// The GPU that holds `memory`; -1: ordinary memory (including managed memory, which the host can
// read), or there is no driver. From any thread.
[[nodiscard]] int device_of_pointer(const void *memory) noexcept;

}  // namespace ringrt
