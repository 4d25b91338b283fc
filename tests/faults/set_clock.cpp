// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into Slurm's daemons (LD_PRELOAD): the file $RINGRT_CLOCK has the seconds by which
// their wall clock is ahead of the machine's. It may change at any time, as if an administrator set
// the clock. CLOCK_MONOTONIC stays as it is.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

// Without the functions below.
timespec machine_clock(clockid_t clock) {
    timespec now{};
    syscall(SYS_clock_gettime, clock, &now);
    return now;
}

long read_ahead_s() {
    const char *path = std::getenv("RINGRT_CLOCK");
    std::FILE *file = path != nullptr ? std::fopen(path, "r") : nullptr;
    long seconds = 0;
    if (file == nullptr) return 0;
    if (std::fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    std::fclose(file);
    return seconds;
}

// Read again every 20 ms at most.
long ahead_s() {
    static std::atomic<long> seconds{0}, read_at_ms{-1000};
    const timespec now = machine_clock(CLOCK_MONOTONIC);
    const long now_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (now_ms - read_at_ms >= 20) {
        read_at_ms = now_ms;
        seconds = read_ahead_s();
    }
    return seconds;
}

}  // namespace

#define RINGRT_VISIBLE extern "C" __attribute__((visibility("default")))

RINGRT_VISIBLE int clock_gettime(clockid_t clock, timespec *out) noexcept {
    if (syscall(SYS_clock_gettime, clock, out) != 0) return -1;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) out->tv_sec += ahead_s();
    return 0;
}

RINGRT_VISIBLE time_t time(time_t *out) noexcept {
    const time_t now = machine_clock(CLOCK_REALTIME).tv_sec + ahead_s();
    if (out != nullptr) *out = now;
    return now;
}

RINGRT_VISIBLE int gettimeofday(timeval *out, void *) noexcept {
    const timespec now = machine_clock(CLOCK_REALTIME);
    *out = {.tv_sec = now.tv_sec + ahead_s(), .tv_usec = now.tv_nsec / 1000};
    return 0;
}

// Its deadline is a time by the wall clock, and the kernel knows only the machine's.
RINGRT_VISIBLE int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                          const timespec *until) {
    using Wait = int (*)(pthread_cond_t *, pthread_mutex_t *, const timespec *);
    static const auto real = reinterpret_cast<Wait>(dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
    const timespec on_machine = {.tv_sec = until->tv_sec - ahead_s(), .tv_nsec = until->tv_nsec};
    return real(condition, mutex, &on_machine);
}
