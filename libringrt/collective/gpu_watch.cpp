// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/gpu_watch.h"

#include <chrono>
#include <utility>

#include "libringrt/base/thread.h"

namespace ringrt {

GpuWatch::GpuWatch(std::function<bool()> look)
    : look_(std::move(look)),
      thread_(start_thread([this] { run(); }, [](ringrt_status_t, const char *) {})) {}

GpuWatch::~GpuWatch() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void GpuWatch::wake() {
    {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(wanted_, true)) return;
    }
    changed_.notify_all();
}

void GpuWatch::run() {
    constexpr auto kEvery = std::chrono::milliseconds(5);
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return wanted_ || stop_; });
        if (stop_) return;
        wanted_ = false;  // cleared first, so that work enqueued during the check counts
        lock.unlock();
        const bool more = look_();
        lock.lock();
        wanted_ = wanted_ || more;
        if (wanted_) changed_.wait_for(lock, kEvery, [this] { return stop_; });
    }
}

}  // namespace ringrt
