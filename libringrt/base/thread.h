// SPDX-License-Identifier: BSD-3-Clause
// The library's threads: every one is started here, so that none can end the user's program.
#pragma once

#include <functional>
#include <thread>

#include "libringrt/ringrt.h"

namespace ringrt {

// Runs `body` on a thread of its own. The program's signal handlers do not run there; only signals
// that the thread itself causes (SIGSEGV, SIGXFSZ …) reach it. Where the body throws, `failed` is
// called on that thread with NO_MEMORY or SYSTEM_ERROR and what the exception says (valid during
// the call only). Throws std::system_error where no thread can be had.
[[nodiscard]] std::thread start_thread(
    std::function<void()> body, std::function<void(ringrt_status_t, const char *what)> failed);

}  // namespace ringrt
