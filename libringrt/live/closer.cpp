// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/closer.h"

#include <utility>

#include "libringrt/base/thread.h"

namespace ringrt::live {

void Closer::add(std::function<void()> close) {
    {
        const std::scoped_lock lock(mutex_);
        open_.push_back(std::move(close));
        if (std::exchange(runs_, true)) return;
    }
    wait();
    if (!try_start_thread(
             thread_, [this] { run(); }, [](ringrt_status_t, const char *) {})
             .ok())
        run();
}

void Closer::run() {
    std::unique_lock lock(mutex_);
    while (!open_.empty()) {
        std::function<void()> close = std::move(open_.front());
        open_.pop_front();
        lock.unlock();
        close();
        close = nullptr;
        lock.lock();
    }
    runs_ = false;
}

void Closer::wait() {
    if (thread_.joinable()) thread_.join();
}

}  // namespace ringrt::live
