// SPDX-License-Identifier: BSD-3-Clause
// The small collectives of checkpoints and the step boundary, over a communicator.
#pragma once

#include <algorithm>
#include <mutex>

#include "libringrt/base/group.h"
#include "libringrt/collective/communicator.h"

namespace ringrt {

// A step boundary may replace the communicator (live/resizer.h).
class CommunicatorGroup final : public Group {
  public:
    // The position of a rank while it is outside of the group that it will join. Rank and size only
    // ensure that it does not act as rank 0.
    struct Outside {
        int rank = 1, size = 2;
        bool now = false;
    };
    CommunicatorGroup(Communicator &communicator, uint32_t timeout_ms, Outside outside)
        : communicator_(&communicator), timeout_ms_(timeout_ms), outside_(outside) {}
    CommunicatorGroup(Communicator &communicator, uint32_t timeout_ms)
        : CommunicatorGroup(communicator, timeout_ms, Outside()) {}
    Communicator &communicator() const { return *communicator_; }
    void use(Communicator &communicator, bool outside) {
        const std::scoped_lock lock(mutex_);
        communicator_ = &communicator;
        outside_.now = outside;
    }
    void abort() {  // from any thread
        const std::scoped_lock lock(mutex_);
        communicator_->abort();
    }
    int rank() const override { return outside_.now ? outside_.rank : communicator_->rank(); }
    int size() const override { return outside_.now ? outside_.size : communicator_->size(); }
    Status allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return outcome(communicator_->all_gather(mine.data(), all.data(), mine.size()));
    }
    Status broadcast(std::span<std::byte> bytes) override {
        return outcome(communicator_->broadcast(bytes.data(), bytes.size(), 0));
    }
    Status largest(std::span<uint8_t> bytes) override {
        return outcome(communicator_->largest(bytes.data(), bytes.data(), bytes.size()));
    }
    void expect_file_work(bool begins) override {
        file_works_ += begins ? 1 : -1;
        const uint32_t longer_ms = std::min(kFileWorkFactor * timeout_ms_, kFileWorkMax_ms);
        communicator_->set_timeout_ms(file_works_ > 0 ? std::max(longer_ms, timeout_ms_)
                                                      : timeout_ms_);
    }
    Status outcome(ringrt_status_t status) const {
        if (status != RINGRT_OK && outside_.now)
            return {status, "this extension has not joined: ringrt_restore() comes first"};
        return communicator_->outcome(status);
    }

  private:
    static constexpr uint32_t kFileWorkFactor = 10, kFileWorkMax_ms = 1800000;
    std::mutex mutex_;  // serializes a change of the communicator with abort()
    Communicator *communicator_;
    const uint32_t timeout_ms_;
    Outside outside_;
    int file_works_ = 0;
};

}  // namespace ringrt
