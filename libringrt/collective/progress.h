// SPDX-License-Identifier: BSD-3-Clause
// Progress: a thread that runs started allreduces one by one, the most urgent first.
//
// All ranks must run them in the same order, but ranks start them at different times. So rank 0
// decides: it picks the most urgent of its open operations and broadcasts that operation's start
// number. Every rank runs it once it has started it too, which happens on every rank because all
// ranks start the same operations in the same order.
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
        std::shared_ptr<void> ready;  // for GPU buffers: see Communicator::allreduce
    };
    explicit Progress(Communicator &communicator, uint32_t timeout_ms);
    ~Progress();  // requires that no request is left
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    std::unique_ptr<Request> start(const Operation &operation);
    // True in the progress thread, or while no request is open.
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
    std::deque<std::shared_ptr<Entry>> open_;  // in start order
    uint64_t started_ = 0;
    bool stop_ = false;
    ringrt_status_t ended_ = RINGRT_OK;  // if not RINGRT_OK, the thread has ended
    std::thread thread_;
};

}  // namespace ringrt
