// SPDX-License-Identifier: BSD-3-Clause
// A process that dies before one of its messages to another node, or that is late with it. Include
// it in one file of a program: it replaces libc's sendmsg().
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>

namespace ringrt::test {

inline std::atomic<int> messages_left = 0;  // then this process dies; 0: it does not
inline std::atomic<bool> is_only_late = false;

// For which message it is. Shared with the processes that are forked later.
inline std::atomic<int> *shared_number() {
    return new (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
        std::atomic<int>();
}

}  // namespace ringrt::test

extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr *message,
                                                                  int flags) {
    using ringrt::test::messages_left;
    static const auto send = reinterpret_cast<decltype(&sendmsg)>(dlsym(RTLD_NEXT, "sendmsg"));
    if (messages_left > 0 && --messages_left == 0) {
        usleep(100000);  // ranks that have the other messages continue
        if (!ringrt::test::is_only_late) kill(getpid(), SIGKILL);
    }
    return send(fd, message, flags);
}
