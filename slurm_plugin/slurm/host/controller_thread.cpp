// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/controller_thread.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "slurm_plugin/slurm/host/controller_loop.h"

namespace ringrt::slurm {

bool ControllerThread::start() {
    // The process handles signals: none is delivered to this thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread_, nullptr, main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (started) pthread_setname_np(thread_, name_);
    return started;
}

bool ControllerThread::stop(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    const bool ended = changed_.wait_for(lock, wait, [this] { return ended_; });
    lock.unlock();
    if (ended)
        pthread_join(thread_, nullptr);
    else
        pthread_detach(thread_);
    return ended;
}

void ControllerThread::reload() {
    const std::scoped_lock lock(mutex_);
    reload_ = true;
    changed_.notify_all();
}

bool ControllerThread::take_reload() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(reload_, false);
}

bool ControllerThread::is_reload_due() {
    const std::scoped_lock lock(mutex_);
    return reload_;
}

bool ControllerThread::may_act() const {
    const std::scoped_lock lock(mutex_);
    return !stopping_;
}

bool ControllerThread::wait(double seconds) {
    std::unique_lock lock(mutex_);
    const auto time = std::chrono::duration<double>(std::clamp(seconds, 0.001, 3600.0));
    changed_.wait_for(lock, time, [this] { return stopping_ || reload_; });
    return !stopping_;
}

void *ControllerThread::main(void *self) noexcept {
    auto *thread = static_cast<ControllerThread *>(self);
    try {
        ControllerLoop(*thread).run();
    } catch (...) {
        thread->error("the controller has ended; jobs keep their sizes");
    }
    thread->ended();
    const std::scoped_lock lock(thread->mutex_);
    thread->ended_ = true;
    thread->changed_.notify_all();
    return nullptr;
}

}  // namespace ringrt::slurm
