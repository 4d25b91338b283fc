// SPDX-License-Identifier: BSD-3-Clause
// Starts all threads of the library, so that none can end the user's program.
#pragma once

#include <functional>
#include <thread>

#include "libringrt/base/status.h"
#include "libringrt/ringrt.h"

namespace ringrt {

// Runs `body` on a new thread. The program's signal handlers do not run there; only signals that
// the thread itself causes (SIGSEGV, SIGBUS …) reach it. If the body throws, `failed` is called on
// that thread with NO_MEMORY or SYSTEM_ERROR and the exception's text (valid during the call only).
// Throws std::system_error if no thread can be created.
[[nodiscard]] std::thread start_thread(
    std::function<void()> body, std::function<void(ringrt_status_t, const char *what)> failed);

// The same for a thread that the caller can do without: SYSTEM_ERROR if none can be created.
Status try_start_thread(std::thread &out, std::function<void()> body,
                        std::function<void(ringrt_status_t, const char *what)> failed);

}  // namespace ringrt
