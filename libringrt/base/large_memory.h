// SPDX-License-Identifier: BSD-3-Clause
// Memory for gigabytes that are about to be overwritten. A std::vector would write zeros first;
// these pages are only mapped, huge if the kernel has such.
#pragma once

#include <cstddef>

namespace ringrt {

class LargeMemory {
  public:
    LargeMemory() = default;
    ~LargeMemory() { release(); }
    LargeMemory(const LargeMemory &) = delete;
    LargeMemory &operator=(const LargeMemory &) = delete;

    // At least `bytes`; the content is lost if it grows. Throws std::bad_alloc.
    std::byte *reserve(size_t bytes);

  private:
    void release();

    std::byte *memory_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace ringrt
