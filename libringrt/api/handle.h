// SPDX-License-Identifier: BSD-3-Clause
// What a ringrt_t holds, and how its functions run, through guard().
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "libringrt/api/guard.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/gpu/gpu_memory.h"
#include "libringrt/gradients/gradient_reducer.h"
#include "libringrt/job/step.h"
#include "libringrt/ringrt.h"

namespace ringrt {

// The communicator that the step boundary and the checkpoints use. A step boundary may replace it
// (live/resizer.h).
class CommunicatorGroup final : public Group {
  public:
    // For an extension's rank that has not joined, rank and size only ensure that it does not act
    // as rank 0.
    CommunicatorGroup(Communicator &communicator, const Settings &settings)
        : communicator_(&communicator),
          timeout_ms_(settings.timeout_ms),
          outside_rank_(settings.rank + 1),
          outside_size_(settings.size + 1),
          outside_(settings.is_extension) {}
    Communicator &communicator() const { return *communicator_; }
    void use(Communicator &communicator, bool outside) {
        const std::scoped_lock lock(mutex_);
        communicator_ = &communicator;
        outside_ = outside;
    }
    void abort() {  // from any thread
        const std::scoped_lock lock(mutex_);
        communicator_->abort();
    }
    int rank() const override { return outside_ ? outside_rank_ : communicator_->rank(); }
    int size() const override { return outside_ ? outside_size_ : communicator_->size(); }
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
        if (status != RINGRT_OK && outside_)
            return {status, "this extension has not joined: ringrt_restore() comes first"};
        return status == RINGRT_OK ? Status{} : Status{status, communicator_->last_error()};
    }

  private:
    static constexpr uint32_t kFileWorkFactor = 10, kFileWorkMax_ms = 1800000;
    std::mutex mutex_;  // serializes a change of the communicator with abort()
    Communicator *communicator_;
    const uint32_t timeout_ms_;
    const int outside_rank_, outside_size_;
    bool outside_;
    int file_works_ = 0;
};

CommunicatorConfig communicator_config(const Settings &settings);

}  // namespace ringrt

struct ringrt_runtime {
    explicit ringrt_runtime(ringrt::Settings given)
        : settings(std::move(given)),
          own(ringrt::communicator_config(settings)),
          group(own, settings) {}

    // The communicator that the ranks use now.
    [[nodiscard]] ringrt::Communicator &communicator() const { return group.communicator(); }

    const pid_t pid = getpid();
    const ringrt::Settings settings;
    // While it is active, a write beyond the file size limit fails instead of ending the rank.
    ringrt::SignalCounter file_limit;
    ringrt::Communicator own;  // of the ranks that started with this job
    ringrt::CommunicatorGroup group;
    // Owns ringrt_alloc()'s memory. No resize ends this communicator.
    std::unique_ptr<ringrt::Communicator> alone;  // only on an extension's rank
    [[nodiscard]] ringrt::Communicator &memory() { return alone ? *alone : own; }
    void *stream = nullptr;                           // ringrt_set_stream()'s
    std::unique_ptr<ringrt::GpuMemory> gpu_memory;    // set when a buffer is registered
    std::vector<ringrt::checkpoint::Buffer> buffers;  // by name
    std::unique_ptr<ringrt::live::Resizer> resizer;   // null without live_resize
    std::unique_ptr<ringrt::StepBoundary> boundary;
    std::unique_ptr<ringrt::GradientReducer> reducer;  // set when a gradient is registered
    ringrt_dtype_t gradient_dtype = RINGRT_FLOAT32;
    ringrt_op_t gradient_op = RINGRT_SUM;
    bool left = false;  // ringrt_step() returned RINGRT_LEAVE: no rank waits for another
    std::atomic<bool> aborted{false};
    mutable ringrt::ErrorLine error;  // gradients become ready, and fail, on any thread
};

namespace ringrt {

inline Status not_live(const ringrt_t &rt, const char *what) {
    if (!rt.resizer) return {};
    return {RINGRT_UNSUPPORTED, format_text("%s cannot be used with live_resize", what)};
}

inline Status check_handle(const ringrt_t *rt) {
    if (!rt) return {RINGRT_INVALID_ARGUMENT, "the handle is NULL"};
    if (rt->pid != getpid())
        return {RINGRT_FORKED, "this handle belongs to the process that fork()ed this one"};
    return {};
}

inline void keep_error(const ringrt_t *rt, std::string message) {
    if (rt)
        rt->error.keep(std::move(message));
    else
        thread_error = std::move(message);
}

// Runs one call on a handle. A failure leaves one line for ringrt_last_error().
template <typename Body>
ringrt_status_t guard(const ringrt_t *rt, Body &&body) noexcept {
    return run_guarded(
        [&] {
            Status valid = check_handle(rt);
            if (valid.ok() && rt->aborted) valid = {RINGRT_ABORTED, "ringrt_abort() was called"};
            return valid.ok() ? body() : valid;
        },
        [&](Status outcome) {
            if (outcome.code == RINGRT_PEER_LOST && rt->boundary)
                outcome.message += "; " + rt->boundary->last_checkpoint();
            keep_error(rt, std::move(outcome.message));
        });
}

inline Status check_idle(const ringrt_t &rt) {
    if (!rt.reducer || rt.reducer->idle()) return {};
    return invalid("gradients are in flight: call ringrt_gradient_wait() for each of them first");
}

// Runs a call that needs the connections exclusively.
template <typename Body>
ringrt_status_t guard_alone(ringrt_t *rt, Body &&body) noexcept {
    return guard(rt, [&] {
        Status idle = check_idle(*rt);
        return idle.ok() ? body() : idle;
    });
}

}  // namespace ringrt
