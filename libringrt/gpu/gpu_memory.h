// SPDX-License-Identifier: BSD-3-Clause
// The memory of this rank's GPU for checkpoints and resizes in place (base/device_memory.h). Uses
// its own Gpu, and so a stream that no collective waits for.
#pragma once

#include <functional>
#include <memory>

#include "libringrt/base/clock.h"
#include "libringrt/base/device_memory.h"
#include "libringrt/gpu/gpu.h"

namespace ringrt {

struct GpuMemoryOptions {
    std::function<int()> rank;       // for error lines
    std::function<void *()> stream;  // the program's current stream; empty: waits for none
    std::function<Status()> watch;   // fails if a rank is lost or this one must end; may be empty
    std::function<std::unique_ptr<Gpu>()>
        another{};                 // one more instance; empty: no copies on the GPU
    uint32_t timeout_ms = 600000;  // of a copy and the work it waits for
    size_t staging_bytes = 32 << 20;
};

class GpuMemory final : public DeviceMemory {
  public:
    // `gpu` null: there is no GPU, or this libringrt cannot use one.
    GpuMemory(std::unique_ptr<Gpu> gpu, GpuMemoryOptions options)
        : gpu_(std::move(gpu)), options_(std::move(options)) {}

    // The GPU that holds `memory`; -1: ordinary memory.
    [[nodiscard]] int device_of(const void *memory) {
        return ringrt::device_of(gpu_.get(), memory);
    }
    // The GPU that the program has made current in this thread; -1: none.
    [[nodiscard]] int current_device() { return gpu_ == nullptr ? -1 : gpu_->current_device(); }
    // Call it before the functions below; `buffer` names a buffer on that GPU. UNSUPPORTED if this
    // libringrt cannot use GPUs; INVALID_ARGUMENT if another GPU is open.
    Status open(int device, const char *buffer);

    Status begin() override;
    Status start_copy(void *out, const void *in, size_t bytes) override;
    Status wait() override;
    Status copy_on_device(std::span<const Range> ranges, std::unique_ptr<DeviceCopy> *out) override;
    Status alloc(size_t bytes, void **out) override;
    void free(void *memory) override;
    [[nodiscard]] size_t staging_bytes() const override { return options_.staging_bytes; }

  private:
    class Copy;
    Status with_context(Status outcome) const;
    Status check_peers(Clock::time_point start);

    std::unique_ptr<Gpu> gpu_;
    GpuMemoryOptions options_;
    int device_ = -1;
    bool stuck_ = false;  // abandoned copies may still be running
};

}  // namespace ringrt
