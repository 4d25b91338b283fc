// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/communicator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libringrt/collective/checks.h"
#include "libringrt/collective/communicator_impl.h"

namespace ringrt {

Communicator::Communicator(CommunicatorConfig config) : impl_(std::make_unique<Impl>()) {
    impl_->config = std::move(config);
    impl_->self.timeout_ms = impl_->config.timeout_ms;
    impl_->self.warn = impl_->config.warn;
    impl_->self.retired = impl_->config.retired;
    impl_->self.fault_point = impl_->config.fault_point;
    if (!impl_->self.warn) {
        impl_->self.warn = [](const std::string &line) {
            fprintf(stderr, "ringrt: %s\n", line.c_str());
        };
    }
}

Communicator::~Communicator() {
    if (!impl_->guard.in_child()) return;
    (void)impl_.release();  // in a forked child threads, locks and memory are the parent's
}

ringrt_status_t Communicator::start() {
    return impl_->guarded([&]() -> Status {
        if (impl_->started) return {RINGRT_INVALID_ARGUMENT, "start() was called before"};
        return impl_->start();
    });
}

ringrt_status_t Communicator::finish() {
    return impl_->guarded([&]() -> Status {
        if (impl_->device != nullptr) RINGRT_TRY(impl_->device->end());
        RINGRT_TRY(impl_->barrier(kFinish));
        if (impl_->transport != nullptr) impl_->transport->notify_abort(-1, {});
        if (impl_->memory != nullptr) impl_->memory->notify_abort(-1, {});
        return {};
    });
}

int Communicator::rank() const { return impl_->self.rank; }
int Communicator::size() const { return impl_->self.size; }
int Communicator::local_rank() const { return impl_->local_rank; }
size_t Communicator::connections() const {
    return impl_->transport != nullptr ? impl_->transport->connections() : 0;
}

namespace {

// For a single rank.
Status scatter_copy(const Work &work) {
    each_output(
        work, 0, work.count * work.element_bytes, [&](std::byte *to, size_t bytes, size_t passed) {
            each_input(work, passed, bytes, [&](const std::byte *from, size_t part, size_t done) {
                copy(to + done, from, part, StoreHint::Cached);
            });
        });
    return {};
}

}  // namespace

ringrt_status_t Communicator::allreduce(const void *send, void *recv, size_t count,
                                        ringrt_dtype_t dtype, ringrt_op_t op, const OnGpu &how) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        RINGRT_TRY(check_reduce(dtype, op));
        RINGRT_TRY(check_count(count, dtype_bytes(dtype)));
        size_t bytes = count * dtype_bytes(dtype);
        RINGRT_TRY(check_buffers(send, bytes, recv, bytes, 0));
        Work work = sum_of(send, recv, count, dtype, op, impl_->self.size);
        bool on_gpu = false;
        if (bytes > 0) RINGRT_TRY(impl_->device->memory_kind_of(send, recv, &on_gpu));
        if (on_gpu) return impl_->sum_on_gpu(work, how);
        return impl_->alone(recv, send, bytes) ? Status{} : impl_->allreduce(work);
    });
}

// To the ranks but root it is an allreduce, whose result they throw away.
ringrt_status_t Communicator::reduce(const void *send, void *recv, size_t count,
                                     ringrt_dtype_t dtype, ringrt_op_t op, int root) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        RINGRT_TRY(check_reduce(dtype, op));
        RINGRT_TRY(check_count(count, dtype_bytes(dtype)));
        const int rank = impl_->self.rank, size = impl_->self.size;
        if (root < 0 || root >= size) return {RINGRT_INVALID_ARGUMENT, "root is not a rank"};
        const size_t bytes = count * dtype_bytes(dtype), received = rank == root ? bytes : 0;
        RINGRT_TRY(check_buffers(send, bytes, recv, received, 0));
        auto body = [&](const void *from, void *to) -> Status {
            if (impl_->alone(to, from, bytes)) return {};
            std::vector<std::byte> unused(bytes - received);
            void *out = rank == root ? to : unused.data();
            return impl_->allreduce(sum_of(from, out, count, dtype, op, size));
        };
        return impl_->in_host_memory(send, bytes, recv, received, body);
    });
}

ringrt_status_t Communicator::reduce_scatter(const void *send, void *recv, size_t count,
                                             ringrt_dtype_t dtype, ringrt_op_t op,
                                             const OnGpu &how) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        RINGRT_TRY(check_reduce(dtype, op));
        int rank = impl_->self.rank, size = impl_->self.size;
        size_t each = dtype_bytes(dtype);
        RINGRT_TRY(check_count(count, each));
        const Share own = share(count, size, rank);
        RINGRT_TRY(check_buffers(recv, own.count * each, send, count * each, own.first * each));
        bool done = false;
        RINGRT_TRY(impl_->shares_by_nccl(sum_of(send, recv, count, dtype, op, size),
                                         {.kind = Gpu::Call::ReduceScatter}, how, &done));
        if (done) return {};
        auto body = [&](const void *from, void *to) -> Status {
            if (impl_->alone(to, from, count * each)) return {};
            return impl_->reduce_scatter(sum_of(from, to, count, dtype, op, size));
        };
        return impl_->in_host_memory(send, count * each, recv, own.count * each, body);
    });
}

ringrt_status_t Communicator::reduce_scatter(const Ranges &send, void *recv, size_t count,
                                             ringrt_dtype_t dtype, ringrt_op_t op) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        RINGRT_TRY(check_reduce(dtype, op));
        RINGRT_TRY(check_ranges(send, count * dtype_bytes(dtype)));
        Work work = sum_of(nullptr, recv, count, dtype, op, impl_->self.size);
        work.inputs = &send;
        return impl_->self.size == 1 ? scatter_copy(work) : impl_->reduce_scatter(work);
    });
}

ringrt_status_t Communicator::all_gather(const Ranges &send, const Ranges &recv, size_t bytes) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        int size = impl_->self.size;
        RINGRT_TRY(check_ranges(send, bytes));
        RINGRT_TRY(check_ranges(recv, bytes * size_t(size)));
        Work work = bytes_of(nullptr, nullptr, bytes * size_t(size), size);
        work.only_input_block = impl_->self.rank;
        work.inputs = &send;
        work.outputs = &recv;
        if (size == 1) return scatter_copy(work);
        return impl_->all_gather(work, impl_->next_op(kAllGather, work, bytes));
    });
}

ringrt_status_t Communicator::all_gather_shares(const void *send, void *recv, size_t count,
                                                ringrt_dtype_t dtype, const OnGpu &how) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        size_t each = dtype_bytes(dtype);
        if (each == 0) return {RINGRT_INVALID_ARGUMENT, "no such dtype"};
        RINGRT_TRY(check_count(count, each));
        int rank = impl_->self.rank, size = impl_->self.size;
        Share own = share(count, size, rank);
        RINGRT_TRY(check_buffers(send, own.count * each, recv, count * each, own.first * each));
        Work work{.input = send,
                  .output = recv,
                  .count = count,
                  .element_bytes = each,
                  .dtype = dtype,
                  .ranks = size,
                  .only_input_block = rank};
        bool done = false;
        RINGRT_TRY(impl_->shares_by_nccl(work, {.kind = Gpu::Call::AllGather}, how, &done));
        if (done) return {};
        auto body = [&](const void *from, void *to) -> Status {
            if (impl_->alone(to, from, count * each)) return {};
            work.input = from, work.output = to;
            return impl_->all_gather(work, impl_->next_op(kAllGatherShares, work, count));
        };
        return impl_->in_host_memory(send, own.count * each, recv, count * each, body);
    });
}

ringrt_status_t Communicator::all_gather(const void *send, void *recv, size_t bytes) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        auto size = size_t(impl_->self.size), rank = size_t(impl_->self.rank);
        RINGRT_TRY(check_count(bytes, size));
        RINGRT_TRY(check_buffers(send, bytes, recv, bytes * size, bytes * rank));
        return impl_->in_host_memory(
            send, bytes, recv, bytes * size,
            [&](const void *from, void *to) { return impl_->gather_all(from, to, bytes); });
    });
}

ringrt_status_t Communicator::broadcast(void *buffer, size_t bytes, int root) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        int rank = impl_->self.rank, size = impl_->self.size;
        if (root < 0 || root >= size) return {RINGRT_INVALID_ARGUMENT, "root is not a rank"};
        RINGRT_TRY(check_count(bytes, 1));
        if (bytes > 0 && buffer == nullptr)
            return {RINGRT_INVALID_ARGUMENT, "send or recv is NULL"};
        if (size == 1) return {};
        auto body = [&](const void *from, void *to) -> Status {
            void *data = rank == root ? const_cast<void *>(from) : to;  // the root only reads it
            Work work = bytes_of(data, data, bytes, size);
            return impl_->broadcast(work, impl_->next_op(kBroadcast, work, bytes, root), root);
        };
        return impl_->in_host_memory(buffer, rank == root ? bytes : 0, buffer,
                                     rank == root ? 0 : bytes, body);
    });
}

ringrt_status_t Communicator::broadcast(const void *send, void *recv, size_t bytes, int root) {
    if (rank() == root) {
        const ringrt_status_t copied = copy_here(recv, send, bytes);
        if (copied != RINGRT_OK) return copied;
    }
    return broadcast(recv, bytes, root);
}

ringrt_status_t Communicator::largest(const uint8_t *mine, uint8_t *all, size_t count) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        return impl_->largest(mine, all, count);
    });
}

ringrt_status_t Communicator::barrier() {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        return impl_->barrier(kBarrier);
    });
}

ringrt_status_t Communicator::start_allreduce(const void *send, void *recv, size_t count,
                                              ringrt_dtype_t dtype, ringrt_op_t op, int priority,
                                              std::unique_ptr<Request> *out) {
    return impl_->guarded(
        [&]() -> Status {
            RINGRT_TRY(check_started(impl_->started));
            RINGRT_TRY(check_reduce(dtype, op));
            RINGRT_TRY(check_count(count, dtype_bytes(dtype)));
            size_t bytes = count * dtype_bytes(dtype);
            RINGRT_TRY(check_buffers(send, bytes, recv, bytes, 0));
            if (impl_->progress == nullptr) {
                impl_->progress = std::make_unique<Progress>(*this, impl_->config.timeout_ms);
            }
            bool on_gpu = false;
            Gpu::Event ready;  // marks the current end of the caller's stream
            if (count > 0) RINGRT_TRY(impl_->device->memory_kind_of(send, recv, &on_gpu));
            if (on_gpu) RINGRT_TRY(impl_->device->mark(&ready));
            *out = impl_->progress->start({send, recv, count, dtype, op, priority, ready});
            return {};
        },
        Impl::kBesideRequests);
}

ringrt_status_t Communicator::alloc(size_t bytes, void **out) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        return impl_->memory != nullptr ? impl_->memory->alloc(bytes, out)
                                        : impl_->alloc_alone(bytes, out);
    });
}

ringrt_status_t Communicator::free(void *memory) {
    return impl_->guarded([&]() -> Status {
        if (memory == nullptr) return {};
        if (impl_->memory != nullptr) return impl_->memory->free(memory);
        if (impl_->allocated.erase(memory) > 0) return {};
        return {RINGRT_INVALID_ARGUMENT,
                format_text("rank %d: this memory was not allocated by alloc", impl_->self.rank)};
    });
}

void Communicator::abort() noexcept {
    impl_->self.aborted = true;
    // A call in progress sees the flag within kLongSliceMs and notifies the peers itself.
    std::unique_lock lock(impl_->call_mutex, std::try_to_lock);
    if (!lock.owns_lock() || impl_->guard.in_child()) return;
    if (impl_->failure != RINGRT_OK) return;
    (void)impl_->answer(
        {RINGRT_ABORTED, format_text("rank %d: aborted", impl_->self.rank), impl_->self.rank});
}

void Communicator::set_timeout_ms(uint32_t timeout_ms) noexcept {
    impl_->self.timeout_ms = timeout_ms;
}

ringrt_status_t Communicator::watch() {
    return impl_->guarded([&] { return impl_->watch({.kind = kBarrier}); });
}

ringrt_status_t Communicator::failure() const noexcept { return impl_->failure; }

std::string Communicator::last_error() const {
    std::lock_guard lock(impl_->line_mutex);
    return impl_->line;
}

}  // namespace ringrt
