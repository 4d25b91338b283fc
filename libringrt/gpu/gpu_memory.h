// SPDX-License-Identifier: BSD-3-Clause
// The memory of this rank's GPU, as checkpoints and resizes in place see it (base/device_memory.h):
// over a Gpu of its own, so in a stream that no collective waits for.
#pragma once

#include <functional>
#include <memory>

#include "libringrt/base/clock.h"
#include "libringrt/base/device_memory.h"
#include "libringrt/gpu/gpu.h"

namespace ringrt {

struct GpuMemoryOptions {
    std::function<int()> rank;       // of the lines about errors
    std::function<void *()> stream;  // the program's, at that moment
    std::function<Status()> watch;   // is a rank lost, or this one told to end?
    uint32_t timeout_ms = 600000;    // of what was started, and what it comes behind
    size_t staging_bytes = 32 << 20;
};

class GpuMemory final : public DeviceMemory {
  public:
    // `gpu` null: none is to be had, or this libringrt cannot use any.
    GpuMemory(std::unique_ptr<Gpu> gpu, GpuMemoryOptions options)
        : gpu_(std::move(gpu)), options_(std::move(options)) {}

    // The GPU that `memory` lies on; -1: ordinary memory.
    [[nodiscard]] int device_of(const void *memory) {
        return ringrt::device_of(gpu_.get(), memory);
    }
    // Before all that follows: `buffer`, by its name, lies there. UNSUPPORTED where this libringrt
    // cannot use GPUs; INVALID_ARGUMENT where it was opened for another one.
    Status open(int device, const char *buffer);

    Status begin() override;
    Status start_copy(void *out, const void *in, size_t bytes) override;
    Status wait() override;
    Status alloc(size_t bytes, void **out) override;
    void free(void *memory) override;
    [[nodiscard]] size_t staging_bytes() const override { return options_.staging_bytes; }

  private:
    Status told(Status outcome) const;
    Status look_around(Clock::time_point start);

    std::unique_ptr<Gpu> gpu_;
    GpuMemoryOptions options_;
    int device_ = -1;
    bool stuck_ = false;  // copies were given up that may still run
};

}  // namespace ringrt
