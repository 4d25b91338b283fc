// SPDX-License-Identifier: BSD-3-Clause
// For builds in which configure found no CUDA and NCCL; otherwise nvidia_gpu.cpp.
#include "libringrt/gpu/gpu.h"

namespace ringrt {

std::unique_ptr<Gpu> find_gpu() { return nullptr; }

}  // namespace ringrt
