// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move equal blocks without reduction: all-to-all, gather, scatter.
#include "libringrt/collective/checks.h"
#include "libringrt/collective/communicator_impl.h"

namespace ringrt {
namespace {

Schedule schedule_of(OpKind kind, int rank, int size, int root) {
    if (kind == kGather) return gather_schedule(rank, size, root);
    if (kind == kScatter) return scatter_schedule(rank, size, root);
    return all_to_all_schedule(rank, size);
}

}  // namespace

Status Communicator::Impl::move_blocks(OpKind kind, const void *send, void *recv, size_t count,
                                       ringrt_dtype_t dtype, int root) {
    RINGRT_TRY(check_started(started));
    const auto size = size_t(self.size), rank = size_t(self.rank), each = dtype_bytes(dtype);
    if (each == 0) return {RINGRT_INVALID_ARGUMENT, "no such dtype"};
    if (root < 0 || root >= self.size) return {RINGRT_INVALID_ARGUMENT, "root is not a rank"};
    RINGRT_TRY(check_count(count, each * size));
    const size_t block = count * each, own = block * rank;
    const bool at_root = self.rank == root;
    if (kind == kAllToAll)
        RINGRT_TRY(check_buffers(send, block * size, recv, block * size, kApart));
    if (kind == kGather)
        RINGRT_TRY(check_buffers(send, block, recv, at_root ? block * size : 0, own));
    if (kind == kScatter)
        RINGRT_TRY(check_buffers(recv, block, send, at_root ? block * size : 0, own));
    if (self.size == 1) {
        if (send != recv) copy(recv, send, block, StoreHint::Cached);
        return {};
    }
    const Work work{.input = send,
                    .output = recv,
                    .count = count * size,
                    .element_bytes = each,
                    .dtype = dtype,
                    .ranks = self.size,
                    .only_input_block = kind == kGather ? self.rank : -1,
                    .only_output_block = kind == kScatter ? self.rank : -1};
    const OpHeader call = next_op(kind, work, count, root);
    if (one_node())
        return node->move_blocks(work, kind == kScatter ? root : -1, kind == kGather ? root : -1,
                                 call);
    return execute(schedule_of(kind, self.rank, self.size, root), work, call, self,
                   transport.get());
}

ringrt_status_t Communicator::all_to_all(const void *send, void *recv, size_t count,
                                         ringrt_dtype_t dtype) {
    return impl_->guarded(
        [&] { return impl_->move_blocks(kAllToAll, send, recv, count, dtype, 0); });
}

ringrt_status_t Communicator::gather(const void *send, void *recv, size_t count,
                                     ringrt_dtype_t dtype, int root) {
    return impl_->guarded(
        [&] { return impl_->move_blocks(kGather, send, recv, count, dtype, root); });
}

ringrt_status_t Communicator::scatter(const void *send, void *recv, size_t count,
                                      ringrt_dtype_t dtype, int root) {
    return impl_->guarded(
        [&] { return impl_->move_blocks(kScatter, send, recv, count, dtype, root); });
}

}  // namespace ringrt
