// SPDX-License-Identifier: BSD-3-Clause
// How a communicator's operation runs: its arguments are checked, then it enters the queue.
#pragma once

#include <memory>
#include <utility>

#include "libringrt/api/comm.h"
#include "libringrt/api/operation_checks.h"
#include "libringrt/api/request.h"
#include "libringrt/base/dtype.h"

namespace ringrt {

struct Queued : ringrt_request {
    bool is_done() override { return ticket->done(); }
    ringrt_status_t wait() noexcept override {
        return run_guarded([&] { return ticket->wait(); },
                           [](Status outcome) { thread_error = std::move(outcome.message); });
    }

    std::shared_ptr<const OperationQueue::Ticket> ticket;
};

// Aborts the communicator on an error, so that no peer waits for a rank that cannot take part.
template <class Body>
Status carry_out(ringrt_comm_t &comm, Body &&body) noexcept {
    Status outcome;
    const ringrt_status_t status =
        run_guarded([&] { return outcome = comm.outcome(body()); },
                    [&](Status failed) { outcome.message = std::move(failed.message); });
    if (status != outcome.code) {
        outcome.code = status;
        comm.communicator.abort();
    }
    return outcome;
}

// Queues the operation; body() runs a function of the communicator.
template <class Body>
Status submit(ringrt_comm_t *comm, ringrt_request_t **request, Body body) {
    auto operation = [comm, body] {
        Status outcome = carry_out(*comm, body);
        if (!outcome.ok()) comm->error.keep(outcome.message);
        return outcome;
    };
    if (!request) return comm->queue.run(operation);
    auto made = std::make_unique<Queued>();
    made->ticket = comm->queue.start(operation);
    *request = made.release();
    return {};
}

// Adds the call to the open group, unless it is invalid.
template <class Valid, class Add>
Status join_group(OpenGroup &group, ringrt_request_t **request, Valid &&valid, Add &&add) {
    Status outcome =
        request ? invalid("within a group, only ringrt_comm_group_end() gives a request") : valid();
    if (outcome.ok())
        add(group);
    else if (group.refused.ok())
        group.refused = outcome;
    return outcome;
}

// valid() checks the arguments; body() runs a collective of the communicator.
template <class Valid, class Body>
ringrt_status_t operate(ringrt_comm_t *comm, ringrt_request_t **request, Valid &&valid,
                        Body body) noexcept {
    return guard(comm, [&]() -> Status {
        if (comm->group)
            return join_group(*comm->group, request, valid,
                              [&](OpenGroup &group) { group.collectives.emplace_back(body); });
        RINGRT_TRY(valid());
        return submit(comm, request, body);
    });
}

inline Communicator &of(ringrt_comm_t *comm) { return comm->communicator; }

}  // namespace ringrt
