// SPDX-License-Identifier: BSD-3-Clause
// What a ringrt_t holds, and how its functions run, through guard().
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "libringrt/api/communicator_group.h"
#include "libringrt/api/guard.h"
#include "libringrt/api/registered.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/gradients/gradient_reducer.h"
#include "libringrt/job/step.h"
#include "libringrt/ringrt.h"

namespace ringrt {

CommunicatorConfig communicator_config(const Settings &settings);

}  // namespace ringrt

struct ringrt_runtime {
    explicit ringrt_runtime(ringrt::Settings given)
        : settings(std::move(given)),
          own(ringrt::communicator_config(settings)),
          group(
              own, settings.timeout_ms,
              {.rank = settings.rank + 1, .size = settings.size + 1, .now = settings.is_extension}),
          registered({.rank = [this] { return group.rank(); },
                      .stream = [this] { return stream; },
                      .watch = [this] { return watch(); },
                      .another = [] { return ringrt::find_gpu(); },
                      .timeout_ms = settings.timeout_ms}),
          rows({.find_device = [this](auto &buffer) { return registered.find_device(buffer); },
                .add = [this](auto buffer) { return registered.add(std::move(buffer)); },
                .replace = [this](const auto &buffer) { registered.replace(buffer); }}) {}

    // The communicator that the ranks use now.
    [[nodiscard]] ringrt::Communicator &communicator() const { return group.communicator(); }

    // Fails if a rank is lost or this one must end.
    [[nodiscard]] ringrt::Status watch() {
        if (aborted) return {RINGRT_ABORTED, "ringrt_abort() was called"};
        return group.outcome(communicator().watch());
    }

    const pid_t pid = getpid();
    const ringrt::Settings settings;
    // While it is active, a write beyond the file size limit fails instead of ending the rank.
    ringrt::SignalCounter file_limit;
    ringrt::Communicator own;  // of the ranks that started with this job
    ringrt::CommunicatorGroup group;
    // Owns ringrt_mem_alloc()'s memory. No resize ends this communicator.
    std::unique_ptr<ringrt::Communicator> alone;  // only on an extension's rank
    [[nodiscard]] ringrt::Communicator &memory() { return alone ? *alone : own; }
    void *stream = nullptr;  // ringrt_set_stream()'s
    ringrt::Registered registered;
    ringrt::live::MovingRows rows;
    std::unique_ptr<ringrt::live::Resizer> resizer;  // null without live_resize
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

// With live_resize a silent rank of an extension is lost, so a program needs to know one status
// only.
inline Status as_loss(const ringrt_t &rt, Status outcome) {
    const bool silent = outcome.code == RINGRT_TIMEOUT && rt.resizer && !rt.resizer->is_outside();
    if (silent && rt.resizer->must_recover()) outcome.code = RINGRT_PEER_LOST;
    return outcome;
}

// Runs one call on a handle. A failure leaves one line for ringrt_last_error().
template <typename Body>
ringrt_status_t guard(const ringrt_t *rt, Body &&body) noexcept {
    return run_guarded(
        [&] {
            Status valid = check_handle(rt);
            if (valid.ok() && rt->aborted) valid = {RINGRT_ABORTED, "ringrt_abort() was called"};
            return valid.ok() ? as_loss(*rt, body()) : valid;
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
