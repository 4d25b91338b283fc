// SPDX-License-Identifier: BSD-3-Clause
// How every function of the C API runs: no exception escapes, and a failure leaves one line.
#pragma once

#include <unistd.h>

#include <exception>
#include <mutex>
#include <new>
#include <string>

#include "libringrt/base/status.h"

namespace ringrt {

inline Status invalid(const char *what) { return {RINGRT_INVALID_ARGUMENT, what}; }

// Runs the body of a call; on failure, keep(outcome) may store the message. An exception from
// either becomes a status: an allocation can fail even in keep(), while it stores "out of memory".
template <typename Body, typename Keep>
ringrt_status_t run_guarded(Body &&body, Keep &&keep) noexcept {
    ringrt_status_t status = RINGRT_SYSTEM_ERROR;
    try {
        Status outcome;
        try {
            outcome = body();
        } catch (const std::bad_alloc &) {
            outcome = {RINGRT_NO_MEMORY, "out of memory"};
        } catch (const std::exception &error) {
            outcome = {RINGRT_SYSTEM_ERROR, std::string("internal error: ") + error.what()};
        }
        status = outcome.code;
        if (!outcome.ok()) keep(std::move(outcome));
    } catch (...) {  // no message is kept
    }
    return status;
}

// Runs a collective call's body. If it throws, between two messages to the other ranks, abort()
// ends their wait for this one.
template <typename Body, typename Abort>
Status abort_if_thrown(Body &&body, Abort &&abort) {
    try {
        return body();
    } catch (...) {
        abort();
        throw;
    }
}

// This thread's last failure without a handle, or with a handle of the parent process.
inline thread_local std::string thread_error;

// The line about a handle's last failure. In a forked child, a thread of the parent may have held
// the mutex, so the child keeps the line for each thread.
class ErrorLine {
  public:
    void keep(std::string line) {
        if (pid_ != getpid()) {
            thread_error = std::move(line);
            return;
        }
        const std::scoped_lock lock(mutex_);
        line_ = std::move(line);
    }
    // Valid until this thread calls get() again: another thread's call may replace line_ meanwhile.
    [[nodiscard]] const char *get() const noexcept {
        if (pid_ != getpid()) return thread_error.c_str();
        thread_local std::string shown;
        try {
            const std::scoped_lock lock(mutex_);
            shown = line_;
        } catch (const std::exception &) {
            return "out of memory";
        }
        return shown.c_str();
    }

  private:
    const pid_t pid_ = getpid();
    mutable std::mutex mutex_;
    std::string line_;
};

}  // namespace ringrt
