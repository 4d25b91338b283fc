// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/progress.h"

#include <sched.h>

#include <algorithm>

#include "libringrt/base/affinity.h"
#include "libringrt/base/thread.h"

namespace ringrt {

struct Progress::Entry {
    Operation operation;
    uint64_t number = 0;
    bool done = false;
    ringrt_status_t status = RINGRT_OK;
};

class Progress::Handle : public Request {
  public:
    Handle(Progress &progress, std::shared_ptr<Entry> entry)
        : progress_(progress), entry_(std::move(entry)) {}
    ~Handle() override { (void)wait(); }
    bool test(ringrt_status_t *status) override {
        std::lock_guard lock(progress_.mutex_);
        if (entry_->done) *status = entry_->status;
        return entry_->done;
    }
    ringrt_status_t wait() override {
        std::unique_lock lock(progress_.mutex_);
        progress_.changed_.wait(lock, [&] { return entry_->done; });
        return entry_->status;
    }

  private:
    Progress &progress_;
    std::shared_ptr<Entry> entry_;
};

Progress::Progress(Communicator &communicator, uint32_t timeout_ms)
    : communicator_(communicator),
      timeout_ms_(timeout_ms),
      thread_(start_thread(
          [this, cpu = sched_getcpu()] {
              stay_near(cpu);
              run();
          },
          [this](ringrt_status_t status, const char *) { end_all(status); })) {}

Progress::~Progress() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

std::unique_ptr<Request> Progress::start(const Operation &operation) {
    auto entry = std::make_shared<Entry>(Entry{.operation = operation});
    auto handle = std::make_unique<Handle>(*this, entry);
    {
        std::lock_guard lock(mutex_);
        entry->number = started_++;
        if (ended_ != RINGRT_OK) {
            entry->done = true, entry->status = ended_;
            return handle;
        }
        open_.push_back(std::move(entry));
    }
    changed_.notify_all();
    return handle;
}

bool Progress::may_call() const {
    std::lock_guard lock(mutex_);
    return open_.empty() || std::this_thread::get_id() == thread_.get_id();
}

// The operation that all ranks run next; rank 0 decides.
std::shared_ptr<Progress::Entry> Progress::next(ringrt_status_t *status) {
    uint64_t number = 0;
    if (communicator_.rank() == 0) {
        std::lock_guard lock(mutex_);
        auto urgent =
            std::min_element(open_.begin(), open_.end(), [](const auto &a, const auto &b) {
                return a->operation.priority < b->operation.priority;  // the first of equals
            });
        number = (*urgent)->number;
    }
    *status =
        communicator_.size() > 1 ? communicator_.broadcast(&number, sizeof number, 0) : RINGRT_OK;
    return *status == RINGRT_OK ? find(number, status) : nullptr;
}

std::shared_ptr<Progress::Entry> Progress::find(uint64_t number, ringrt_status_t *status) {
    std::unique_lock lock(mutex_);
    auto started = [&] { return started_ > number || stop_; };
    if (!changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms_), started)) {
        *status = RINGRT_TIMEOUT;
        return nullptr;
    }
    auto found = std::find_if(open_.begin(), open_.end(),
                              [&](const auto &each) { return each->number == number; });
    if (found != open_.end()) return *found;
    *status = RINGRT_MISMATCH;
    return nullptr;
}

void Progress::finish(const std::shared_ptr<Entry> &entry, ringrt_status_t status) {
    std::lock_guard lock(mutex_);
    entry->done = true, entry->status = status;
    std::erase(open_, entry);
    changed_.notify_all();
}

// The thread has ended: fail all open operations, and all that are started later.
void Progress::end_all(ringrt_status_t status) {
    {
        std::lock_guard lock(mutex_);
        ended_ = status;
        for (const auto &entry : open_) entry->done = true, entry->status = status;
        open_.clear();
    }
    changed_.notify_all();
    communicator_.abort();  // the peers would wait for this rank
}

void Progress::run() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !open_.empty() || stop_; });
            if (open_.empty()) return;
        }
        ringrt_status_t status = RINGRT_OK;
        std::shared_ptr<Entry> entry = next(&status);
        if (entry != nullptr) {
            const Operation &o = entry->operation;
            finish(entry, communicator_.allreduce(o.send, o.recv, o.count, o.dtype, o.op,
                                                  {.behind = o.ready}));
            continue;
        }
        // No rank can continue after a lost rank: all open operations end with its status.
        std::lock_guard lock(mutex_);
        for (const auto &each : open_) each->done = true, each->status = status;
        open_.clear();
        changed_.notify_all();
    }
}

}  // namespace ringrt
