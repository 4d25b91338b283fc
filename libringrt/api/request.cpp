// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/api/request.h"

#include <memory>

#include "libringrt/api/guard.h"

using namespace ringrt;

namespace {

Status check_request(const ringrt_request_t *request) {
    if (!request) return invalid("request is NULL");
    if (request->pid == getpid()) return {};
    return {RINGRT_FORKED, "this request belongs to the process that fork()ed this one"};
}

void keep(Status outcome) { thread_error = std::move(outcome.message); }

}  // namespace

extern "C" {

ringrt_status_t ringrt_test(ringrt_request_t *request, int *done) {
    return run_guarded(
        [&]() -> Status {
            if (!done) return invalid("done is NULL");
            RINGRT_TRY(check_request(request));
            *done = request->is_done() ? 1 : 0;
            return {};
        },
        keep);
}

ringrt_status_t ringrt_wait(ringrt_request_t *request) {
    const ringrt_status_t valid = run_guarded([&] { return check_request(request); }, keep);
    if (valid != RINGRT_OK) return valid;
    const std::unique_ptr<ringrt_request_t> owned(request);
    return owned->wait();
}

}  // extern "C"
