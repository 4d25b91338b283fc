// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/operation_queue.h"

#include <sched.h>

#include <utility>

#include "libringrt/base/affinity.h"
#include "libringrt/base/thread.h"

namespace ringrt {

bool OperationQueue::Ticket::done() const {
    const std::scoped_lock lock(mutex_);
    return done_;
}

Status OperationQueue::Ticket::wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
    return status_;
}

void OperationQueue::Ticket::finish(Status status) {
    const std::scoped_lock lock(mutex_);
    done_ = true;
    status_ = std::move(status);
    changed_.notify_all();
}

OperationQueue::~OperationQueue() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const OperationQueue::Ticket> OperationQueue::start(Operation operation) {
    auto ticket = std::make_shared<Ticket>();
    {
        const std::scoped_lock lock(mutex_);
        if (!thread_.joinable())
            thread_ = start_thread(
                [this, cpu = sched_getcpu()] {
                    stay_near(cpu);
                    run_all();
                },
                [this](ringrt_status_t status, const char *what) { end_all(status, what); });
        open_.push_back({std::move(operation), ticket});
    }
    changed_.notify_all();
    return ticket;
}

bool OperationQueue::idle() const {
    const std::scoped_lock lock(mutex_);
    return !busy_ && open_.empty();
}

bool OperationQueue::take_turn() {
    const std::scoped_lock lock(mutex_);
    return !busy_ && open_.empty() && (busy_ = true);
}

void OperationQueue::end_turn(Ticket *ticket, const Status &status) {
    bool awaited = false;  // avoids waking the thread without need
    {
        const std::scoped_lock lock(mutex_);
        busy_ = false;
        if (ticket) ticket->finish(status);  // other threads see both changes at once
        awaited = !open_.empty() || stop_;
    }
    if (awaited) changed_.notify_all();
}

void OperationQueue::run_all() {
    for (;;) {
        Entry entry;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !busy_ && (!open_.empty() || stop_); });
            if (open_.empty()) return;
            entry = std::move(open_.front());
            open_.pop_front();
            busy_ = true;
        }
        const Status status = entry.operation();
        end_turn(entry.ticket.get(), status);
    }
}

// The thread has ended, so all open operations end.
void OperationQueue::end_all(ringrt_status_t status, const char *what) {
    const std::scoped_lock lock(mutex_);
    for (Entry &each : open_) each.ticket->finish({status, what});
    open_.clear();
}

}  // namespace ringrt
