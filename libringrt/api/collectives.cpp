// SPDX-License-Identifier: BSD-3-Clause
// Collectives, requests, and their memory.
#include "libringrt/api/handle.h"
#include "libringrt/api/operation_checks.h"
#include "libringrt/api/request.h"
#include "libringrt/base/dtype.h"
#include "libringrt/gpu/device_collectives.h"

using namespace ringrt;

namespace {

struct Started : ringrt_request {
    explicit Started(ringrt_t *of) : rt(of) {}
    bool is_done() override {
        ringrt_status_t ignored = RINGRT_OK;
        return operation->test(&ignored);
    }
    ringrt_status_t wait() noexcept override {
        const ringrt_status_t status = operation->wait();
        return guard(rt, [&] { return rt->group.outcome(status); });
    }

    ringrt_t *const rt;
    std::unique_ptr<Request> operation;
};

// With live_resize, ranks continue after a loss with the state in memory, so an update must not use
// a failed sum. The call therefore waits for a result on a GPU.
OnGpu on_gpu(const ringrt_t &rt) { return {.waits = rt.resizer != nullptr}; }

}  // namespace

extern "C" {

ringrt_status_t ringrt_allreduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                 ringrt_op_t op, ringrt_t *rt) {
    return guard_alone(rt, [&]() -> Status {
        RINGRT_TRY(check_allreduce(rt->communicator(), send, recv, count, dtype, op));
        return rt->group.outcome(
            rt->communicator().allreduce(send, recv, count, dtype, op, on_gpu(*rt)));
    });
}

ringrt_status_t ringrt_reduce_scatter(const void *send, void *recv, size_t count,
                                      ringrt_dtype_t dtype, ringrt_op_t op, ringrt_t *rt) {
    return guard_alone(rt, [&]() -> Status {
        Communicator &all = rt->communicator();
        RINGRT_TRY(check_reduce_scatter(all, send, recv, count, dtype, op));
        return rt->group.outcome(all.reduce_scatter(
            send, recv, count * static_cast<size_t>(all.size()), dtype, op, on_gpu(*rt)));
    });
}

ringrt_status_t ringrt_allgather(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                 ringrt_t *rt) {
    return guard_alone(rt, [&]() -> Status {
        Communicator &all = rt->communicator();
        RINGRT_TRY(check_allgather(all, send, recv, count, dtype));
        return rt->group.outcome(all.all_gather_shares(
            send, recv, count * static_cast<size_t>(all.size()), dtype, on_gpu(*rt)));
    });
}

ringrt_status_t ringrt_set_stream(ringrt_t *rt, void *stream) {
    return guard(rt, [&] {
        rt->stream = stream;
        if (rt->resizer && rt->resizer->is_outside()) return Status{};  // set when it joins
        return rt->group.outcome(rt->communicator().set_stream(stream));
    });
}

ringrt_status_t ringrt_mem_alloc(ringrt_t *rt, size_t bytes, void **out) {
    return guard(rt, [&] {
        if (!out) return invalid("out is NULL");
        return rt->group.outcome(rt->memory().alloc(bytes, out));
    });
}

ringrt_status_t ringrt_mem_free(ringrt_t *rt, void *memory) {
    return guard(rt, [&] { return rt->group.outcome(rt->memory().free(memory)); });
}

ringrt_status_t ringrt_allreduce_start(const void *send, void *recv, size_t count,
                                       ringrt_dtype_t dtype, ringrt_op_t op, int priority,
                                       ringrt_t *rt, ringrt_request_t **request) {
    return guard_alone(rt, [&]() -> Status {
        if (!request) return invalid("request is NULL");
        RINGRT_TRY(check_allreduce(rt->communicator(), send, recv, count, dtype, op));
        auto made = std::make_unique<Started>(rt);
        Status started = rt->group.outcome(rt->communicator().start_allreduce(
            send, recv, count, dtype, op, priority, &made->operation));
        if (started.ok()) *request = made.release();
        return started;
    });
}

ringrt_status_t ringrt_broadcast(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                 int root, ringrt_t *rt) {
    return guard_alone(rt, [&]() -> Status {
        RINGRT_TRY(check_broadcast(rt->communicator(), send, recv, count, dtype, root));
        return rt->group.outcome(
            rt->communicator().broadcast(send, recv, count * dtype_bytes(dtype), root));
    });
}

ringrt_status_t ringrt_barrier(ringrt_t *rt) {
    return guard_alone(rt,
                       [&]() -> Status { return rt->group.outcome(rt->communicator().barrier()); });
}

}  // extern "C"
