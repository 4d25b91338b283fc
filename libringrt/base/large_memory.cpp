// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/large_memory.h"

#include <sys/mman.h>

#include <new>

namespace ringrt {

std::byte *LargeMemory::reserve(size_t bytes) {
    constexpr size_t kHugePage = 2 << 20;
    if (bytes <= bytes_) return memory_;
    release();
    const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void *made = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    madvise(made, whole, MADV_HUGEPAGE);  // not built into every kernel
    memory_ = static_cast<std::byte *>(made);
    bytes_ = whole;
    return memory_;
}

void LargeMemory::release() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    memory_ = nullptr;
    bytes_ = 0;
}

}  // namespace ringrt
