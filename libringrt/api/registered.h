// SPDX-License-Identifier: BSD-3-Clause
// The buffers that a program has registered with a handle, from the arguments of the C API.
#pragma once

#include <memory>
#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/gpu/gpu_memory.h"

namespace ringrt {

// INVALID_ARGUMENT with the reason.
Status describe(const char *name, ringrt_dtype_t dtype, int ndim, const uint64_t *shape,
                checkpoint::Parameter &out);

class Registered {
  public:
    explicit Registered(GpuMemoryOptions options) : options_(std::move(options)) {}

    // Inserts a described buffer in name order, after it has found whether it is in GPU memory.
    // INVALID_ARGUMENT if there is one of that name.
    Status add(checkpoint::Buffer buffer);
    void remove(const std::string &name);
    // Sets a described buffer's device.
    Status find_device(checkpoint::Buffer &buffer);
    // The GPU that holds buffers, or else the one that the program has made current; -1: none.
    [[nodiscard]] int gpu();
    // The buffer of that name is now here, or another part of it.
    void replace(const checkpoint::Buffer &buffer);
    [[nodiscard]] bool contains(const std::string &name) const { return find(name) != nullptr; }
    [[nodiscard]] const checkpoint::Buffer *find(const std::string &name) const;  // may be null
    [[nodiscard]] const std::vector<checkpoint::Buffer> &buffers() const { return buffers_; }

  private:
    using Place = std::vector<checkpoint::Buffer>::const_iterator;
    GpuMemory &gpu_memory();
    [[nodiscard]] Place place_of(const std::string &name) const;

    const GpuMemoryOptions options_;
    std::unique_ptr<GpuMemory> gpu_memory_;    // made when it is first needed
    std::vector<checkpoint::Buffer> buffers_;  // by name
};

}  // namespace ringrt
