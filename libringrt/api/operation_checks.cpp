// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/api/operation_checks.h"

#include "libringrt/api/guard.h"
#include "libringrt/base/dtype.h"
#include "libringrt/collective/checks.h"

namespace ringrt {
namespace {

// The two buffers of an operation, in elements.
struct Buffers {
    const void *one;
    size_t one_count;
    const void *other;
    size_t other_count;
    size_t in_place = kApart;  // the element of `other` at which `one` may begin
    bool host_only = false;    // neither may be in GPU memory
};

Status check_place(Communicator &over, const void *buffer, size_t count, size_t each,
                   bool host_only) {
    if (count == 0) return {};
    const bool is_aligned = reinterpret_cast<uintptr_t>(buffer) % each == 0;
    if ((is_aligned && !host_only) || !over.on_gpu(buffer)) return {};
    if (host_only)
        return {RINGRT_UNSUPPORTED,
                "this buffer is in GPU memory, and this operation takes host memory: copy it"};
    return invalid("a buffer in GPU memory is not aligned to its dtype");
}

Status check(Communicator &over, const Buffers &buffers, size_t each) {
    if (each == 0) return invalid("no such dtype");
    const size_t in_place = buffers.in_place == kApart ? kApart : buffers.in_place * each;
    RINGRT_TRY(check_buffers(buffers.one, buffers.one_count * each, buffers.other,
                             buffers.other_count * each, in_place));
    RINGRT_TRY(check_place(over, buffers.one, buffers.one_count, each, buffers.host_only));
    return check_place(over, buffers.other, buffers.other_count, each, buffers.host_only);
}

Status check_root(const Communicator &over, int root) {
    if (root >= 0 && root < over.size()) return {};
    return invalid("root is not a rank");
}

// Checks `count` elements for each rank.
Status check_blocks(const Communicator &over, size_t count, size_t each) {
    if (each == 0) return invalid("no such dtype");
    return check_count(count, each * static_cast<size_t>(over.size()));
}

size_t of_all(const Communicator &over, size_t count) {
    return count * static_cast<size_t>(over.size());
}

size_t own_block(const Communicator &over, size_t count) {
    return count * static_cast<size_t>(over.rank());
}

}  // namespace

Status check_allreduce(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype, ringrt_op_t op) {
    RINGRT_TRY(check_reduce(dtype, op));
    RINGRT_TRY(check_count(count, dtype_bytes(dtype)));
    return check(over, {send, count, recv, count, 0}, dtype_bytes(dtype));
}

Status check_reduce_to(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype, ringrt_op_t op, int root) {
    RINGRT_TRY(check_root(over, root));
    RINGRT_TRY(check_reduce(dtype, op));
    RINGRT_TRY(check_count(count, dtype_bytes(dtype)));
    const size_t received = over.rank() == root ? count : 0;
    return check(over, {send, count, recv, received, 0}, dtype_bytes(dtype));
}

Status check_reduce_scatter(Communicator &over, const void *send, const void *recv, size_t count,
                            ringrt_dtype_t dtype, ringrt_op_t op) {
    RINGRT_TRY(check_reduce(dtype, op));
    RINGRT_TRY(check_blocks(over, count, dtype_bytes(dtype)));
    // recv may begin at this rank's block of send.
    return check(over, {recv, count, send, of_all(over, count), own_block(over, count)},
                 dtype_bytes(dtype));
}

Status check_allgather(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype) {
    RINGRT_TRY(check_blocks(over, count, dtype_bytes(dtype)));
    return check(over, {send, count, recv, of_all(over, count), own_block(over, count)},
                 dtype_bytes(dtype));
}

Status check_broadcast(Communicator &over, const void *send, const void *recv, size_t count,
                       ringrt_dtype_t dtype, int root) {
    RINGRT_TRY(check_root(over, root));
    RINGRT_TRY(check_blocks(over, count, dtype_bytes(dtype)));
    const size_t sent = over.rank() == root ? count : 0;
    return check(over, {send, sent, recv, count, 0}, dtype_bytes(dtype));
}

Status check_alltoall(Communicator &over, const void *send, const void *recv, size_t count,
                      ringrt_dtype_t dtype) {
    RINGRT_TRY(check_blocks(over, count, dtype_bytes(dtype)));
    const size_t all = of_all(over, count);
    return check(over, {send, all, recv, all, kApart, true}, dtype_bytes(dtype));
}

Status check_rooted(Communicator &over, const void *block, const void *blocks, size_t count,
                    ringrt_dtype_t dtype, int root) {
    RINGRT_TRY(check_root(over, root));
    RINGRT_TRY(check_blocks(over, count, dtype_bytes(dtype)));
    const size_t all = over.rank() == root ? of_all(over, count) : 0;
    return check(over, {block, count, blocks, all, own_block(over, count), true},
                 dtype_bytes(dtype));
}

Status check_message(Communicator &over, const void *data, size_t count, ringrt_dtype_t dtype,
                     int peer, int tag) {
    if (peer < 0 || peer >= over.size()) return invalid("peer is not a rank");
    if (tag < 0) return invalid("tag: expected 0 or more");
    const size_t each = dtype_bytes(dtype);
    if (each == 0) return invalid("no such dtype");
    RINGRT_TRY(check_count(count, each));
    return check(over, {data, count, nullptr, 0, kApart, true}, each);
}

}  // namespace ringrt
