// SPDX-License-Identifier: BSD-3-Clause
// Progress: a thread that runs started allreduces one by one, the most urgent first.
//
// All ranks must run them in the same order, but what has been started when differs from rank to
// rank. So rank 0 decides: it takes the most urgent of what it has, tells its number (the
// how-manieth started) in a broadcast, and every rank runs that one, once it is started there too.
// All ranks start the same operations in the same order, so that comes to pass.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "libringrt/collective/communicator.h"

namespace ringrt {

class Progress {
  public:
    struct Operation {
        const void *send;
        void *recv;
        size_t count;
        ringrt_dtype_t dtype;
        ringrt_op_t op;
        int priority;
        std::shared_ptr<void> ready;  // for buffers on a GPU: see Communicator::allreduce
    };
    explicit Progress(Communicator &communicator, uint32_t timeout_ms);
    ~Progress();  // no request is left
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    std::unique_ptr<Request> start(const Operation &operation);
    // Called by this thread itself, or while no request is open.
    [[nodiscard]] bool may_call() const;

  private:
    struct Entry;
    class Handle;
    void run();
    std::shared_ptr<Entry> next(ringrt_status_t *status);
    std::shared_ptr<Entry> find(uint64_t number, ringrt_status_t *status);
    void finish(const std::shared_ptr<Entry> &entry, ringrt_status_t status);
    void end_all(ringrt_status_t status);

    Communicator &communicator_;
    uint32_t timeout_ms_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Entry>> open_;  // in the order of starting
    uint64_t started_ = 0;
    bool stop_ = false;
    ringrt_status_t ended_ = RINGRT_OK;  // not ok: the thread has ended
    std::thread thread_;
};

}  // namespace ringrt
