// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/closed_in_children.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <utility>

namespace ringrt {
namespace {

std::mutex mutex;  // held during a fork, so that the child finds a consistent list

// The live objects. Never destroyed: a program may end before it releases its handle.
std::vector<const ClosedInChildren *> &known() {
    static auto &list = *new std::vector<const ClosedInChildren *>;
    return list;
}

}  // namespace

void ClosedInChildren::close_all() {
    for (const ClosedInChildren *each : known())
        for (int fd : each->fds_) ::close(fd);
    mutex.unlock();
}

ClosedInChildren::ClosedInChildren(std::vector<int> fds) : fds_(std::move(fds)) {
    const std::scoped_lock lock(mutex);
    static const int registered =
        pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, close_all);
    (void)registered;  // without memory for the handler, children keep the descriptors
    known().push_back(this);
}

void ClosedInChildren::add(int fd) {
    const std::scoped_lock lock(mutex);
    fds_.push_back(fd);
}

ClosedInChildren::~ClosedInChildren() {
    const std::scoped_lock lock(mutex);
    std::erase(known(), this);
}

}  // namespace ringrt
