// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/workers.h"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "libringrt/base/thread.h"

namespace ringrt {

Workers::~Workers() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    allowed_.notify_all();
    for (std::thread &helper : helpers_) helper.join();
}

void Workers::allow(size_t end) {
    {
        const std::scoped_lock lock(mutex_);
        end_ = end;
    }
    allowed_.notify_all();
    start_helpers(end);
}

void Workers::share(size_t end) {
    std::unique_lock lock(mutex_);
    while (next_ < end && failed_ == kNone) run_next(lock, 0);
}

Status Workers::finish(size_t end) {
    share(end);
    std::unique_lock lock(mutex_);
    over_.wait(lock, [=, this] { return are_over(failed_ == kNone ? end : kNone); });
    if (thrown_) std::rethrow_exception(thrown_);
    return outcome_;
}

bool Workers::are_over(size_t end) const {
    return std::ranges::all_of(running_, [end](size_t job) { return job >= end; });
}

// One job needs no other thread.
void Workers::start_helpers(size_t jobs) {
    const size_t wanted = std::min(running_.size(), jobs);
    try {
        helpers_.reserve(running_.size());
        for (size_t thread = helpers_.size() + 1; thread < wanted; ++thread)
            helpers_.push_back(
                start_thread([=, this] { help(thread); }, [](ringrt_status_t, const char *) {}));
    } catch (const std::system_error &) {  // fewer threads: the caller runs more jobs
    }
}

void Workers::help(size_t thread) {
    std::unique_lock lock(mutex_);
    for (;;) {
        allowed_.wait(lock, [this] { return ending_ || (next_ < end_ && failed_ == kNone); });
        if (ending_) return;
        run_next(lock, thread);
    }
}

void Workers::run_next(std::unique_lock<std::mutex> &lock, size_t thread) {
    const size_t number = running_[thread] = next_++;
    lock.unlock();
    Status outcome;
    std::exception_ptr thrown;
    try {
        outcome = job_(number, thread);
    } catch (...) {
        thrown = std::current_exception();
    }
    lock.lock();
    running_[thread] = kNone;
    if ((!outcome.ok() || thrown) && number < failed_) {
        failed_ = number;
        outcome_ = std::move(outcome);
        thrown_ = std::move(thrown);
    }
    over_.notify_one();
}

size_t worker_threads() {
    constexpr size_t kMax = 4;
    cpu_set_t mine;
    // It fails on a machine with more CPUs than the set can hold.
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return kMax;
    return std::min(kMax, static_cast<size_t>(CPU_COUNT(&mine)) + 1);
}

}  // namespace ringrt
