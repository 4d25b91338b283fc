// SPDX-License-Identifier: BSD-3-Clause
// A communicator's collectives.
#include <vector>

#include "libringrt/api/comm_operation.h"

using namespace ringrt;

namespace {

// An allreduce does not copy between the host and the GPU.
Status check_same_side(ringrt_comm_t &comm, const void *send, const void *recv, size_t count) {
    if (count == 0 || of(&comm).on_gpu(send) == of(&comm).on_gpu(recv)) return {};
    return invalid("send and recv are not both in host memory or both in GPU memory");
}

}  // namespace

extern "C" {

ringrt_status_t ringrt_comm_set_stream(ringrt_comm_t *comm, void *stream) {
    return guard(comm, [&] { return comm->outcome(of(comm).set_stream(stream)); });
}

ringrt_status_t ringrt_comm_allreduce(const void *send, void *recv, size_t count,
                                      ringrt_dtype_t dtype, ringrt_op_t op, ringrt_comm_t *comm,
                                      ringrt_request_t **request) {
    return operate(
        comm, request,
        [&]() -> Status {
            RINGRT_TRY(check_allreduce(of(comm), send, recv, count, dtype, op));
            return check_same_side(*comm, send, recv, count);
        },
        [=] { return of(comm).allreduce(send, recv, count, dtype, op); });
}

ringrt_status_t ringrt_comm_reduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                   ringrt_op_t op, int root, ringrt_comm_t *comm,
                                   ringrt_request_t **request) {
    return operate(
        comm, request,
        [&] { return check_reduce_to(of(comm), send, recv, count, dtype, op, root); },
        [=] { return of(comm).reduce(send, recv, count, dtype, op, root); });
}

ringrt_status_t ringrt_comm_reduce_scatter(const void *send, void *recv, size_t count,
                                           ringrt_dtype_t dtype, ringrt_op_t op,
                                           ringrt_comm_t *comm, ringrt_request_t **request) {
    return operate(
        comm, request, [&] { return check_reduce_scatter(of(comm), send, recv, count, dtype, op); },
        [=] {
            const size_t all = count * static_cast<size_t>(of(comm).size());
            return of(comm).reduce_scatter(send, recv, all, dtype, op);
        });
}

ringrt_status_t ringrt_comm_allgather(const void *send, void *recv, size_t count,
                                      ringrt_dtype_t dtype, ringrt_comm_t *comm,
                                      ringrt_request_t **request) {
    return operate(
        comm, request, [&] { return check_allgather(of(comm), send, recv, count, dtype); },
        [=] {
            const size_t all = count * static_cast<size_t>(of(comm).size());
            return of(comm).all_gather_shares(send, recv, all, dtype);
        });
}

ringrt_status_t ringrt_comm_broadcast(const void *send, void *recv, size_t count,
                                      ringrt_dtype_t dtype, int root, ringrt_comm_t *comm,
                                      ringrt_request_t **request) {
    return operate(
        comm, request, [&] { return check_broadcast(of(comm), send, recv, count, dtype, root); },
        [=] { return of(comm).broadcast(send, recv, count * dtype_bytes(dtype), root); });
}

ringrt_status_t ringrt_comm_alltoall(const void *send, void *recv, size_t count,
                                     ringrt_dtype_t dtype, ringrt_comm_t *comm,
                                     ringrt_request_t **request) {
    return operate(
        comm, request, [&] { return check_alltoall(of(comm), send, recv, count, dtype); },
        [=] { return of(comm).all_to_all(send, recv, count, dtype); });
}

ringrt_status_t ringrt_comm_gather(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                   int root, ringrt_comm_t *comm, ringrt_request_t **request) {
    return operate(
        comm, request, [&] { return check_rooted(of(comm), send, recv, count, dtype, root); },
        [=] { return of(comm).gather(send, recv, count, dtype, root); });
}

ringrt_status_t ringrt_comm_scatter(const void *send, void *recv, size_t count,
                                    ringrt_dtype_t dtype, int root, ringrt_comm_t *comm,
                                    ringrt_request_t **request) {
    return operate(
        comm, request, [&] { return check_rooted(of(comm), recv, send, count, dtype, root); },
        [=] { return of(comm).scatter(send, recv, count, dtype, root); });
}

ringrt_status_t ringrt_comm_barrier(ringrt_comm_t *comm, ringrt_request_t **request) {
    return operate(
        comm, request, [] { return Status{}; }, [=] { return of(comm).barrier(); });
}

ringrt_status_t ringrt_comm_mem_alloc(ringrt_comm_t *comm, size_t bytes, void **out) {
    return guard(comm, [&] {
        if (!out) return invalid("out is NULL");
        return comm->outcome(of(comm).alloc(bytes, out));
    });
}

ringrt_status_t ringrt_comm_mem_free(ringrt_comm_t *comm, void *memory) {
    return guard(comm, [&] { return comm->outcome(of(comm).free(memory)); });
}

}  // extern "C"
