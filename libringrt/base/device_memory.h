// SPDX-License-Identifier: BSD-3-Clause
// Memory that the host cannot touch, a GPU's: how its bytes come to the host and back. What saves,
// loads and sends buffers sees GPUs through this alone; gpu/gpu_memory.h is the one behind a Gpu.
// Used by one thread.
#pragma once

#include <cstddef>

#include "libringrt/base/status.h"

namespace ringrt {

class DeviceMemory {
  public:
    virtual ~DeviceMemory() = default;
    // What is copied from now on comes behind all that the program has given the device so far.
    virtual Status begin() = 0;
    // Runs beside the caller, in the order of the calls. The host's side is what alloc() gave.
    virtual Status start_copy(void *out, const void *in, size_t bytes) = 0;
    // Until all that was started is over; not ok where it went wrong, or has no end.
    virtual Status wait() = 0;
    // The host's memory, where the device copies to and from fastest.
    virtual Status alloc(size_t bytes, void **out) = 0;
    virtual void free(void *memory) = 0;
    // So much is in the host's memory at once, at most, where no piece is larger.
    [[nodiscard]] virtual size_t staging_bytes() const { return 32 << 20; }
};

}  // namespace ringrt
