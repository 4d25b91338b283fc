// SPDX-License-Identifier: BSD-3-Clause
// Memory that the host cannot access (a GPU's), and copies between it and host memory. Checkpoints
// and resizes in place use GPUs only through this interface; gpu/gpu_memory.h implements it with a
// Gpu. Used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "libringrt/base/status.h"

namespace ringrt {

class DeviceMemory;

// A copy in device memory, which it owns. Any one thread may read it through reader() while the
// program uses the device.
class DeviceCopy {
  public:
    virtual ~DeviceCopy() = default;
    [[nodiscard]] virtual const std::byte *data() const = 0;
    virtual DeviceMemory &reader() = 0;
};

class DeviceMemory {
  public:
    struct Range {
        const std::byte *data = nullptr;
        size_t bytes = 0;
    };

    virtual ~DeviceMemory() = default;
    // Later copies run after all work that the program has enqueued on the device so far.
    virtual Status begin() = 0;
    // Asynchronous, in call order. The host side must be memory from alloc().
    virtual Status start_copy(void *out, const void *in, size_t bytes) = 0;
    // Waits for all started copies; fails if one failed or does not end.
    virtual Status wait() = 0;
    // Copies the ranges, one after the other, to device memory, as of all work that the program has
    // enqueued so far, and waits for it. *out stays null if the device has no memory to spare.
    virtual Status copy_on_device(std::span<const Range> ranges, std::unique_ptr<DeviceCopy> *out) {
        (void)ranges, (void)out;
        return {};
    }
    // Host memory that the device copies fastest.
    virtual Status alloc(size_t bytes, void **out) = 0;
    virtual void free(void *memory) = 0;
    // The maximum in host memory at once, if no piece is larger.
    [[nodiscard]] virtual size_t staging_bytes() const { return 32 << 20; }
};

}  // namespace ringrt
