// SPDX-License-Identifier: BSD-3-Clause
// Limits of this process that leave it no descriptor, no memory for a thread, or no thread. For one
// source file of a program.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace ringrt::test {

enum Scarce : int { nothing, descriptors, memory, threads };

inline bool has_threads = true;

inline rlim_t address_space() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

inline void set_soft(__rlimit_resource which, rlim_t soft) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0) _exit(247);
    limit.rlim_cur = std::min(soft, limit.rlim_max);
    if (setrlimit(which, &limit) != 0) _exit(247);
}

// A descriptor has to be below the limit, and 0 to 2 are in use. Of memory, enough is left for what
// a step needs, but not for a thread's stack.
inline void make_scarce(Scarce what) {
    constexpr rlim_t kForSteps = 1 << 20;
    set_soft(RLIMIT_NOFILE, what == descriptors ? 3 : 1024);
    has_threads = what != threads;
    set_soft(RLIMIT_AS, what == memory ? address_space() + kForSteps : RLIM_INFINITY);
}

}  // namespace ringrt::test

// The library calls this one. (libc keeps the stacks of threads that have ended, so that a limit of
// memory does not show whether one is started in their place. A limit of threads is the user's.)
extern "C" int pthread_create(pthread_t *out, const pthread_attr_t *attributes,
                              void *(*body)(void *), void *argument) {
    static const auto real =
        reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return ringrt::test::has_threads ? real(out, attributes, body, argument) : EAGAIN;
}
