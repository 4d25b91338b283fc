// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/thread.h"

#include <pthread.h>
#include <signal.h>

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace ringrt {
namespace {

// All signals except those that a fault of the thread itself raises. A write beyond the file size
// limit (SIGXFSZ) then fails instead of ending the process.
sigset_t others_signals() {
    sigset_t set;
    sigfillset(&set);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        sigdelset(&set, own);
    return set;
}

// During its lifetime, new threads inherit a mask that blocks the program's signals.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        const sigset_t blocked = others_signals();
        pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  private:
    sigset_t before_;
};

using Failed = std::function<void(ringrt_status_t, const char *)>;

void report(const Failed &failed, ringrt_status_t status, const char *what) noexcept {
    try {
        failed(status, what);
    } catch (...) {  // nothing more can be done
    }
}

void run(const std::function<void()> &body, const Failed &failed) noexcept {
    try {
        body();
    } catch (const std::bad_alloc &) {
        report(failed, RINGRT_NO_MEMORY, "out of memory");
    } catch (const std::exception &error) {
        report(failed, RINGRT_SYSTEM_ERROR, error.what());
    } catch (...) {
        report(failed, RINGRT_SYSTEM_ERROR, "internal error");
    }
}

}  // namespace

std::thread start_thread(std::function<void()> body, Failed failed) {
    const SignalsBlocked blocked;
    try {
        return std::thread(
            [body = std::move(body), failed = std::move(failed)] { run(body, failed); });
    } catch (const std::system_error &error) {
        throw std::system_error(error.code(), "cannot create a thread");
    }
}

Status try_start_thread(std::thread &out, std::function<void()> body, Failed failed) {
    try {
        out = start_thread(std::move(body), std::move(failed));
        return {};
    } catch (const std::system_error &error) {
        return {RINGRT_SYSTEM_ERROR, error.what()};
    }
}

}  // namespace ringrt
