// SPDX-License-Identifier: BSD-3-Clause
// Does a pointer lie in GPU memory? Asked of NVIDIA's driver, in every build: neither CUDA's
// headers nor its libraries are needed to compile this.
#pragma once

namespace ringrt {

// The GPU that `memory` lies on; -1: ordinary memory (managed memory too, which the host may read),
// or there is no driver. From any thread.
[[nodiscard]] int device_of_pointer(const void *memory) noexcept;

}  // namespace ringrt
