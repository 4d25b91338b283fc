// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/api/registered.h"

#include <algorithm>
#include <cstring>

#include "libringrt/api/guard.h"

namespace ringrt {

Status describe(const char *name, ringrt_dtype_t dtype, int ndim, const uint64_t *shape,
                checkpoint::Parameter &out) {
    if (!name) return invalid("a buffer's name is NULL");
    if (ndim < 0 || static_cast<size_t>(ndim) > checkpoint::kDimensionsMax)
        return invalid("a buffer has 0 to 16 dimensions");
    if (ndim > 0 && !shape) return invalid("a buffer's shape is NULL");
    out = {.name = std::string(name, strnlen(name, checkpoint::kNameBytesMax + 1)),
           .dtype = dtype,
           .shape = std::vector<uint64_t>(shape, shape + ndim)};
    return check(out);
}

Status Registered::add(checkpoint::Buffer buffer) {
    RINGRT_TRY(check(buffer.parameter));
    if (!buffer.data && buffer.bytes > 0) return invalid("a buffer's data is NULL");
    RINGRT_TRY(find_device(buffer));
    if (buffers_.size() == checkpoint::kParametersMax) return invalid("at most 4096 buffers");
    if (contains(buffer.parameter.name))
        return invalid("a buffer of that name is registered already");
    buffers_.insert(place_of(buffer.parameter.name), std::move(buffer));
    return {};
}

void Registered::remove(const std::string &name) {
    if (contains(name)) buffers_.erase(place_of(name));
}

void Registered::replace(const checkpoint::Buffer &buffer) {
    const auto at = place_of(buffer.parameter.name) - buffers_.cbegin();
    buffers_[static_cast<size_t>(at)] = buffer;
}

const checkpoint::Buffer *Registered::find(const std::string &name) const {
    const auto at = place_of(name);
    return at != buffers_.end() && at->parameter.name == name ? &*at : nullptr;
}

Registered::Place Registered::place_of(const std::string &name) const {
    return std::lower_bound(buffers_.begin(), buffers_.end(), name,
                            [](const checkpoint::Buffer &held, const std::string &wanted) {
                                return held.parameter.name < wanted;
                            });
}

Status Registered::find_device(checkpoint::Buffer &buffer) {
    const int device = buffer.bytes > 0 ? gpu_memory().device_of(buffer.data) : -1;
    if (device < 0) return {};
    buffer.device = &gpu_memory();
    return gpu_memory().open(device, buffer.parameter.name.c_str());
}

GpuMemory &Registered::gpu_memory() {
    if (!gpu_memory_) gpu_memory_ = std::make_unique<GpuMemory>(find_gpu(), options_);
    return *gpu_memory_;
}

int Registered::gpu() {
    for (const checkpoint::Buffer &held : buffers_)
        if (held.device != nullptr) return gpu_memory().device_of(held.data);
    return gpu_memory().current_device();
}

}  // namespace ringrt
