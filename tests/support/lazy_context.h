// SPDX-License-Identifier: BSD-3-Clause
// Contexts that take turns within one thread, for the ranks of lazy_gpu.h.
#pragma once

#include <ucontext.h>

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace ringrt::test {

// A context with its own stack, or the thread's.
struct LazyContext {
    ucontext_t context{};
    const void *stack = nullptr;
    size_t stack_bytes = 0;

    // Runs `to` until it switches back. AddressSanitizer must be notified of each switch.
    void switch_to(const LazyContext &to) {
#ifdef __SANITIZE_ADDRESS__
        void *kept = nullptr;
        __sanitizer_start_switch_fiber(&kept, to.stack, to.stack_bytes);
        swapcontext(&context, &to.context);
        __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#else
        swapcontext(&context, &to.context);
#endif
    }
    // Called first in a new context: `from` is the thread's stack.
    static void begun([[maybe_unused]] LazyContext &from) {
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_finish_switch_fiber(nullptr, &from.stack, &from.stack_bytes);
#endif
    }
};

}  // namespace ringrt::test
