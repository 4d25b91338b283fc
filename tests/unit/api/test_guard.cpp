// SPDX-License-Identifier: BSD-3-Clause
// No exception inside the library reaches the program: not through the C boundary, not from a
// thread, not when memory is short.
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>

#include "libringrt/api/handle.h"
#include "libringrt/base/thread.h"
#include "tests/support/check.h"

using namespace ringrt;

namespace {

std::atomic<bool> memory_is_short = false;

}  // namespace

// Not inlined: gcc would treat free() as the wrong counterpart of new.
[[gnu::noinline]] void *operator new(size_t bytes) {
    void *memory = memory_is_short ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

struct Short {
    Short() { memory_is_short = true; }
    ~Short() { memory_is_short = false; }
};

constexpr const char *kLong =
    "a line that is longer than what a string holds without memory of its own";

TEST(an_exception_in_a_call_becomes_a_status) {
    std::string line;
    const auto keep = [&](Status outcome) { line = std::move(outcome.message); };
    ck_assert_int_eq(run_guarded([] { return Status{}; }, keep), RINGRT_OK);
    const auto no_memory = []() -> Status { throw std::bad_alloc(); };
    ck_assert_int_eq(run_guarded(no_memory, keep), RINGRT_NO_MEMORY);
    EXPECT_TEXT(line, "out of memory");
    const auto too_long = []() -> Status { throw std::length_error("too long"); };
    ck_assert_int_eq(run_guarded(too_long, keep), RINGRT_SYSTEM_ERROR);
    EXPECT_TEXT(line, "internal error: too long");
    const auto number = []() -> Status { throw 7; };
    ck_assert_int_eq(run_guarded(number, keep), RINGRT_SYSTEM_ERROR);
}

TEST(the_error_line_may_find_no_memory) {
    const std::length_error error(kLong);
    const auto keep_needs_memory = [](const Status &) { throw std::bad_alloc(); };
    const auto throws = [&]() -> Status {
        memory_is_short = true;
        throw std::length_error(error);  // shares its text
    };
    const ringrt_status_t status = run_guarded(throws, [](const Status &) {});
    memory_is_short = false;
    ck_assert_int_eq(status, RINGRT_SYSTEM_ERROR);
    const auto fails = []() -> Status { return {RINGRT_TIMEOUT, "late"}; };
    ck_assert_int_eq(run_guarded(fails, keep_needs_memory), RINGRT_TIMEOUT);
}

TEST(a_call_without_a_handle_survives_without_memory) {
    const Short memory;
    // Opaque to the compiler, which would otherwise warn about guard()'s use of a null handle.
    const ringrt_t *volatile no_handle = nullptr;
    const ringrt_status_t status = guard(no_handle, [] { return Status{}; });
    ck_assert_int_eq(status, RINGRT_NO_MEMORY);  // for the error line
}

struct Told {
    ringrt_status_t code = RINGRT_OK;
    std::string what;
};

template <typename Thrown>
Told told_of(const Thrown &thrown) {
    Told told;
    std::thread thread = start_thread([&] { throw thrown; },
                                      [&](ringrt_status_t status, const char *what) {
                                          told = {status, what};
                                          throw std::runtime_error("while reporting");
                                      });
    thread.join();
    return told;
}

TEST(an_exception_in_a_thread_is_reported) {
    ck_assert_int_eq(told_of(std::bad_alloc()).code, RINGRT_NO_MEMORY);
    const Told told = told_of(std::length_error("too long"));
    ck_assert_int_eq(told.code, RINGRT_SYSTEM_ERROR);
    EXPECT_TEXT(told.what, "too long");
    ck_assert_int_eq(told_of(7).code, RINGRT_SYSTEM_ERROR);
}

TEST(a_thread_blocks_the_programs_signals) {
    sigset_t inside, before, after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    start_thread([&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); },
                 [](ringrt_status_t, const char *) {})
        .join();
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int own : {SIGSEGV, SIGBUS}) ck_assert(!sigismember(&inside, own));
    ck_assert(sigismember(&inside, SIGXFSZ));
    for (int others : {SIGUSR1, SIGURG, SIGTERM, SIGCHLD}) {
        ck_assert(sigismember(&inside, others));
        ck_assert_int_eq(sigismember(&after, others), sigismember(&before, others));
    }
}

}  // namespace

int main() { return test::run_all("guard"); }
