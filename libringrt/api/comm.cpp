// SPDX-License-Identifier: BSD-3-Clause
// Creates, aborts and destroys a communicator.
#include "libringrt/api/comm.h"

#include <cstdlib>

namespace ringrt {

Status open_comm(const CommunicatorConfig &config, ringrt_comm_t **out) {
    auto made = std::make_unique<Communicator>(config);
    RINGRT_TRY(made->outcome(made->start()));
    *out = new ringrt_comm(std::move(made), config.timeout_ms, config.start_timeout_ms);
    return {};
}

}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_comm_create(ringrt_comm_t **out, const ringrt_comm_config_t *config) {
    return run_guarded(
        [&] {
            if (!out) return invalid("out is NULL");
            CommunicatorConfig resolved;
            Status valid = read_comm_config(config, getenv, resolved);
            return valid.ok() ? open_comm(resolved, out) : valid;
        },
        [](Status outcome) { thread_error = std::move(outcome.message); });
}

ringrt_status_t ringrt_comm_destroy(ringrt_comm_t *comm) {
    if (!comm) return RINGRT_OK;
    if (comm->pid != getpid()) return RINGRT_FORKED;  // the parent's state must not be touched
    if (!comm->queue.idle()) ringrt_comm_abort(comm);
    const std::unique_ptr<ringrt_comm_t> owned(comm);
    return run_guarded(
        [&] {
            if (comm->aborted || comm->communicator.failure() != RINGRT_OK) return Status{};
            return comm->outcome(comm->communicator.finish());
        },
        [](Status outcome) { thread_error = std::move(outcome.message); });
}

ringrt_status_t ringrt_comm_abort(ringrt_comm_t *comm) {
    if (!comm) return RINGRT_INVALID_ARGUMENT;
    if (comm->pid != getpid()) return RINGRT_FORKED;
    comm->aborted = true;
    comm->communicator.abort();
    return RINGRT_OK;
}

ringrt_status_t ringrt_comm_async_error(const ringrt_comm_t *comm, ringrt_status_t *status) {
    if (!comm || !status) return RINGRT_INVALID_ARGUMENT;
    if (comm->pid != getpid()) return RINGRT_FORKED;
    *status = comm->aborted ? RINGRT_ABORTED : comm->communicator.failure();
    return RINGRT_OK;
}

const char *ringrt_comm_last_error(const ringrt_comm_t *comm) {
    return comm ? comm->error.get() : thread_error.c_str();
}

int ringrt_comm_rank(const ringrt_comm_t *comm) { return comm ? comm->communicator.rank() : -1; }
int ringrt_comm_size(const ringrt_comm_t *comm) { return comm ? comm->communicator.size() : -1; }

}  // extern "C"
