// SPDX-License-Identifier: BSD-3-Clause
// OperationQueue: runs the operations of one communicator one after another, in the order of their
// calls. A blocking operation runs in its caller's thread if nothing is in progress before it. The
// others run in a thread of the queue, which is created at first use.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "libringrt/base/status.h"

namespace ringrt {

class OperationQueue {
  public:
    using Operation = std::function<Status()>;

    // A started operation. It outlives the queue.
    class Ticket {
      public:
        [[nodiscard]] bool done() const;
        Status wait() const;

      private:
        friend OperationQueue;
        void finish(Status status);
        mutable std::mutex mutex_;
        mutable std::condition_variable changed_;
        bool done_ = false;
        Status status_;
    };

    OperationQueue() = default;
    ~OperationQueue();  // runs the open operations
    OperationQueue(const OperationQueue &) = delete;
    OperationQueue &operator=(const OperationQueue &) = delete;

    // Operations must not throw.
    std::shared_ptr<const Ticket> start(Operation operation);
    template <class Body>
    Status run(Body &&body) {
        if (!take_turn()) return start(std::forward<Body>(body))->wait();
        Status status = body();
        end_turn();
        return status;
    }
    [[nodiscard]] bool idle() const;

  private:
    struct Entry {
        Operation operation;
        std::shared_ptr<Ticket> ticket;
    };
    bool take_turn();  // returns whether nothing was in progress; the turn is then the caller's
    void end_turn(Ticket *ticket = nullptr, const Status &status = {});
    void run_all();
    void end_all(ringrt_status_t status, const char *what);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Entry> open_;
    bool busy_ = false;  // an operation is running
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace ringrt
