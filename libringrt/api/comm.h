// SPDX-License-Identifier: BSD-3-Clause
// What a ringrt_comm_t holds, and how its functions run.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "libringrt/api/guard.h"
#include "libringrt/base/slurm_env.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/collective/operation_queue.h"
#include "libringrt/ringrt_comm.h"

namespace ringrt {

// Calls collected between ringrt_comm_group_start() and _end().
struct OpenGroup {
    Status refused;  // the first call that was refused
    std::vector<PointToPoint> messages;
    std::vector<std::function<ringrt_status_t()>> collectives;
};

}  // namespace ringrt

struct ringrt_comm {
    ringrt_comm(std::shared_ptr<ringrt::Communicator> started, uint32_t operation_ms,
                uint32_t start_ms)
        : timeout_ms(operation_ms),
          start_timeout_ms(start_ms),
          owned(std::move(started)),
          communicator(*owned) {}

    // The result of the operation that just ran. No other operation may run meanwhile.
    [[nodiscard]] ringrt::Status outcome(ringrt_status_t status) const {
        if (status == RINGRT_OK) return {};
        return {status, communicator.last_error()};
    }

    const pid_t pid = getpid();
    const uint32_t timeout_ms, start_timeout_ms;
    std::atomic<bool> aborted{false};
    mutable ringrt::ErrorLine error;
    const std::shared_ptr<ringrt::Communicator> owned;  // its deleter may close it later
    ringrt::Communicator &communicator;
    std::unique_ptr<ringrt::OpenGroup> group;
    ringrt::OperationQueue queue;  // last: its thread uses all of the above
};

namespace ringrt {

// Resolves the caller's config, the environment and the defaults.
Status read_comm_config(const ringrt_comm_config_t *config, const Environment &environment,
                        CommunicatorConfig &out);

// Creates the handle. Collective.
Status open_comm(const CommunicatorConfig &config, ringrt_comm_t **out);

inline void keep_error(const ringrt_comm_t *comm, std::string message) {
    if (comm)
        comm->error.keep(std::move(message));
    else
        thread_error = std::move(message);
}

inline Status check_handle(const ringrt_comm_t *comm) {
    if (!comm) return invalid("the communicator is NULL");
    if (comm->pid != getpid())
        return {RINGRT_FORKED, "this communicator belongs to the process that fork()ed this one"};
    if (comm->aborted) return {RINGRT_ABORTED, "ringrt_comm_abort() was called"};
    return {};
}

// Runs one call on a communicator. A failure leaves one line for last_error().
template <typename Body>
ringrt_status_t guard(const ringrt_comm_t *comm, Body &&body) noexcept {
    return run_guarded(
        [&] {
            Status valid = check_handle(comm);
            return valid.ok() ? body() : valid;
        },
        [&](Status outcome) { keep_error(comm, std::move(outcome.message)); });
}

}  // namespace ringrt
