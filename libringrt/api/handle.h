// SPDX-License-Identifier: BSD-3-Clause
// What a ringrt_t holds, and how every function of the C boundary runs: through guard(), which lets
// nothing escape and leaves one line behind.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "libringrt/collective/communicator.h"
#include "libringrt/exchange/exchange.h"
#include "libringrt/ringrt.h"
#include "libringrt/step.h"

namespace ringrt {

// The communicator as the step boundary and the checkpoints see it.
class CommunicatorPeers final : public checkpoint::Peers {
  public:
    CommunicatorPeers(Communicator &communicator, uint32_t timeout_ms)
        : communicator_(communicator), timeout_ms_(timeout_ms) {}
    int rank() const override { return communicator_.rank(); }
    int size() const override { return communicator_.size(); }
    Outcome allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return outcome(communicator_.all_gather(mine.data(), all.data(), mine.size()));
    }
    Outcome broadcast(std::span<std::byte> bytes) override {
        return outcome(communicator_.broadcast(bytes.data(), bytes.size(), 0));
    }
    void expect_file_work(bool begins) override {
        file_works_ += begins ? 1 : -1;
        communicator_.set_timeout_ms(file_works_ > 0 ? kFileWorkFactor * timeout_ms_ : timeout_ms_);
    }
    Outcome outcome(ringrt_status_t status) const {
        return status == RINGRT_OK ? Outcome{} : Outcome{status, communicator_.last_error()};
    }

  private:
    static constexpr uint32_t kFileWorkFactor = 10;
    Communicator &communicator_;
    const uint32_t timeout_ms_;
    int file_works_ = 0;
};

CommunicatorConfig communicator_config(const Settings &settings);

// The last failure without a handle, of this thread.
inline thread_local std::string init_error;

}  // namespace ringrt

struct ringrt_runtime {
    explicit ringrt_runtime(ringrt::Settings given)
        : settings(std::move(given)),
          communicator(ringrt::communicator_config(settings)),
          peers(communicator, settings.timeout_ms) {}

    const pid_t pid = getpid();
    const ringrt::Settings settings;
    // While it counts, a write beyond the limit of a file's size fails, and does not end the rank.
    ringrt::SignalCounter file_limit;
    ringrt::Communicator communicator;
    ringrt::CommunicatorPeers peers;
    std::vector<ringrt::checkpoint::Buffer> buffers;  // by name
    std::unique_ptr<ringrt::StepBoundary> boundary;
    std::unique_ptr<ringrt::Exchange> exchange;  // once a gradient is registered
    ringrt_dtype_t gradient_dtype = RINGRT_FLOAT32;
    ringrt_op_t gradient_op = RINGRT_SUM;
    bool left = false;  // ringrt_step() said leave: nobody waits for anybody any more
    std::atomic<bool> aborted{false};
    mutable std::mutex error_mutex;  // gradients become ready, and fail, on any thread
    mutable std::string last_error;
};

namespace ringrt {

inline Outcome invalid(const char *what) { return {RINGRT_INVALID_ARGUMENT, what}; }

template <typename Body>
Outcome run_guarded(Body &&body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return {RINGRT_NO_MEMORY, "out of memory"};
    } catch (const std::exception &error) {
        return {RINGRT_SYSTEM_ERROR, std::string("internal error: ") + error.what()};
    } catch (...) {
        return {RINGRT_SYSTEM_ERROR, "internal error"};
    }
}

inline Outcome check_handle(const ringrt_t *rt) {
    if (!rt) return {RINGRT_INVALID_ARGUMENT, "the handle is NULL"};
    if (rt->pid != getpid())
        return {RINGRT_FORKED, "this handle belongs to the process that fork()ed this one"};
    return {};
}

// Runs one call on a handle; whatever fails leaves one line behind.
template <typename Body>
ringrt_status_t guard(const ringrt_t *rt, Body &&body) noexcept {
    Outcome outcome = run_guarded([&] {
        Outcome valid = check_handle(rt);
        if (valid.ok() && rt->aborted) valid = {RINGRT_ABORTED, "ringrt_abort() was called"};
        return valid.ok() ? body() : valid;
    });
    if (outcome.ok()) return RINGRT_OK;
    if (outcome.status == RINGRT_PEER_LOST && rt->boundary)
        outcome.message += "; " + rt->boundary->last_checkpoint();
    if (rt) {
        const std::scoped_lock lock(rt->error_mutex);
        rt->last_error = std::move(outcome.message);
    } else {
        init_error = std::move(outcome.message);
    }
    return outcome.status;
}

// A call that needs the ranks' connections for itself.
template <typename Body>
ringrt_status_t guard_alone(ringrt_t *rt, Body &&body) noexcept {
    return guard(rt, [&] {
        if (rt->exchange && !rt->exchange->idle())
            return invalid(
                "gradients are under way: ringrt_gradient_wait() for each of them first");
        return body();
    });
}

}  // namespace ringrt
