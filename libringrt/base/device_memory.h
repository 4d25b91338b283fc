// SPDX-License-Identifier: BSD-3-Clause
// Memory that the host cannot access (a GPU's), and copies between it and host memory. Checkpoints
// and resizes in place use GPUs only through this interface; gpu/gpu_memory.h implements it with a
// Gpu. Used by one thread.
#pragma once

#include <cstddef>

#include "libringrt/base/status.h"

namespace ringrt {

class DeviceMemory {
  public:
    virtual ~DeviceMemory() = default;
    // Later copies run after all work that the program has enqueued on the device so far.
    virtual Status begin() = 0;
    // Asynchronous, in call order. The host side must be memory from alloc().
    virtual Status start_copy(void *out, const void *in, size_t bytes) = 0;
    // Waits for all started copies; fails if one failed or does not end.
    virtual Status wait() = 0;
    // Host memory that the device copies fastest.
    virtual Status alloc(size_t bytes, void **out) = 0;
    virtual void free(void *memory) = 0;
    // The maximum in host memory at once, if no piece is larger.
    [[nodiscard]] virtual size_t staging_bytes() const { return 32 << 20; }
};

}  // namespace ringrt
