// SPDX-License-Identifier: BSD-3-Clause
// Processor and kernel primitives for ranks that wait for each other in shared memory.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace ringrt {

inline long futex(std::atomic<uint32_t> *word, int operation, uint32_t value,
                  const timespec *timeout) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t *>(word), operation, value, timeout,
                   nullptr, 0);
}

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Makes all earlier stores visible before any later load. (Not atomic_thread_fence where possible:
// ThreadSanitizer does not support it.)
inline void full_fence() {
#if defined(__x86_64__)
    asm volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace ringrt
