// SPDX-License-Identifier: BSD-3-Clause
// OperationQueue: the operations of one communicator, one after another in the order in which they
// were asked for. One that is waited for runs in its caller's thread where nothing is under way
// before it; the others run in a thread of the queue's, which is made when it is first needed.
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

    // An operation that was started. It outlives the queue.
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
    ~OperationQueue();  // runs what is open
    OperationQueue(const OperationQueue &) = delete;
    OperationQueue &operator=(const OperationQueue &) = delete;

    // Operations do not throw.
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
    bool take_turn();  // whether nothing is under way: then the caller is
    void end_turn(Ticket *ticket = nullptr, const Status &status = {});
    void run_all();
    void end_all(ringrt_status_t status, const char *what);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Entry> open_;
    bool busy_ = false;  // an operation runs
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace ringrt
