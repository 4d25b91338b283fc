// SPDX-License-Identifier: BSD-3-Clause
// A process that dies before one of its messages to another node. Include it in one file of a
// program: it replaces libc's sendmsg().
#pragma once

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace ringrt::test {

inline std::atomic<int> messages_left = 0;  // then this process dies; 0: it does not

}  // namespace ringrt::test

extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr *message,
                                                                  int flags) {
    using ringrt::test::messages_left;
    static const auto send = reinterpret_cast<decltype(&sendmsg)>(dlsym(RTLD_NEXT, "sendmsg"));
    if (messages_left > 0 && --messages_left == 0) {
        usleep(100000);  // ranks that have the other messages continue
        kill(getpid(), SIGKILL);
    }
    return send(fd, message, flags);
}
