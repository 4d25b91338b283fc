// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gpu/device_pointer.h"

#include <dlfcn.h>

#include <cstdint>

namespace ringrt {
namespace {

// CUDA driver API, "Unified Addressing": names and numbers are stable across versions.
using PointerGetAttribute = int (*)(void *data, int attribute, uintptr_t pointer);
constexpr int kMemoryType = 2, kIsManaged = 8, kDeviceOrdinal = 9;  // CU_POINTER_ATTRIBUTE_…
constexpr int kDeviceMemory = 2;                                    // CU_MEMORYTYPE_DEVICE
constexpr int kSuccess = 0;                                         // CUDA_SUCCESS

PointerGetAttribute find() noexcept {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed
    if (driver == nullptr) return nullptr;
    return reinterpret_cast<PointerGetAttribute>(dlsym(driver, "cuPointerGetAttribute"));
}

}  // namespace

// Memory that the driver does not know, or any memory before the driver is started, counts as
// ordinary.
int device_of_pointer(const void *memory) noexcept {
    static const PointerGetAttribute ask = find();
    if (ask == nullptr || memory == nullptr) return -1;
    const auto pointer = reinterpret_cast<uintptr_t>(memory);
    unsigned type = 0, managed = 0;
    int device = -1;
    if (ask(&type, kMemoryType, pointer) != kSuccess || type != kDeviceMemory) return -1;
    if (ask(&managed, kIsManaged, pointer) == kSuccess && managed != 0) return -1;
    return ask(&device, kDeviceOrdinal, pointer) == kSuccess ? device : -1;
}

}  // namespace ringrt
