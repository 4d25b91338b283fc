// SPDX-License-Identifier: BSD-3-Clause
// Runs numbered jobs on the caller's thread and a few others. If no thread can be created, the
// caller runs all of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "libringrt/base/status.h"

namespace ringrt {

class Workers {
  public:
    // The number of the job, and of the thread that runs it: 0 is the caller's.
    using Job = std::function<Status(size_t, size_t)>;

    // `threads` includes the caller's.
    Workers(size_t threads, Job job) : job_(std::move(job)), running_(threads, kNone) {}
    ~Workers();  // waits for the jobs that have begun
    Workers(const Workers &) = delete;
    Workers &operator=(const Workers &) = delete;

    // Lets the other threads begin the jobs below `end`. All jobs begin in the order of their
    // numbers, and none after a failure.
    void allow(size_t end);
    // Runs jobs too, until all below `end`, which are allowed, have begun.
    void share(size_t end);
    // The same, until they are over. After a failure it waits for all that have begun, and returns
    // the failure of the lowest that failed, or throws its exception.
    Status finish(size_t end);

  private:
    static constexpr size_t kNone = SIZE_MAX;

    void start_helpers(size_t jobs);
    void help(size_t thread);
    void run_next(std::unique_lock<std::mutex> &lock, size_t thread);
    [[nodiscard]] bool are_over(size_t end) const;

    const Job job_;
    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::condition_variable allowed_, over_;
    size_t next_ = 0, end_ = 0;    // the next job, and the end of those that may begin
    std::vector<size_t> running_;  // the job of each thread
    size_t failed_ = kNone;        // the lowest job that failed
    Status outcome_;               // its
    std::exception_ptr thrown_;    // or what it threw
    bool ending_ = false;
};

// How many threads share such work in a rank. There is one more than cores that the rank may use,
// so that the disk has something to do while all cores compute. There are at most four, because the
// node's other ranks have theirs.
[[nodiscard]] size_t worker_threads();

}  // namespace ringrt
