// SPDX-License-Identifier: BSD-3-Clause
// GPU buffers of a communicator: the functions that DeviceCollectives uses, and the watch over
// enqueued work.
#include <cstring>

#include "libringrt/collective/checks.h"
#include "libringrt/collective/communicator_impl.h"

namespace ringrt {

std::unique_ptr<DeviceCollectives> Communicator::Impl::make_device() {
    const auto find = config.find_gpu ? config.find_gpu : [] { return find_gpu(); };
    return std::make_unique<DeviceCollectives>(
        self, topology, find(),
        DeviceCollectives::Host{
            .meet = [this](const Work &work) -> Status {
                if (self.size == 1) return {};
                last_barrier_op = next_op(kDeviceAllreduce, work, work.count);
                return this->meet(last_barrier_op);
            },
            .note = [this](std::span<const Gpu::Call> made) { note_gpu_calls(made); },
            .all_gather = [this](const void *mine, void *all,
                                 size_t bytes) { return gather_all(mine, all, bytes); },
            .allreduce = [this](const Work &work) -> Status {
                if (self.size == 1) return {};
                return allreduce(work);
            },
            .allreduce_on_rail = [this](const Work &work) { return allreduce_on_rail(work); },
            .watch = [this] { return watch(last_barrier_op); },
            .start_timeout_ms = config.start_timeout_ms,
            .another = find,
            .skips_ahead = [this] { return skips_nccl_ahead.load(); }});
}

// FNV-1a hash of what must be the same on all ranks.
void Communicator::Impl::note_gpu_calls(std::span<const Gpu::Call> made) {
    for (const Gpu::Call &each : made) {
        ++gpu_calls;
        for (uint64_t part :
             {uint64_t(each.kind), uint64_t(each.count), uint64_t(each.dtype), uint64_t(each.op)}) {
            for (int byte = 0; byte < 8; ++byte)
                gpu_hash = (gpu_hash ^ uint32_t(part >> 8 * byte & 0xff)) * 16777619u;
        }
    }
}

Status Communicator::Impl::sum_on_gpu(const Work &work, const OnGpu &how) {
    bool has_nccl = false;
    RINGRT_TRY(device->open(work, &has_nccl));
    if (has_nccl)
        return call_nccl(
            {Gpu::Call::Allreduce, work.input, work.output, work.count, work.dtype, work.op}, how);
    if (device->uses_nccl()) watch_gpu();
    Gpu::Event ready = how.behind;
    if (ready == nullptr) RINGRT_TRY(device->mark(&ready));
    return device->allreduce(work, ready);
}

Status Communicator::Impl::shares_by_nccl(const Work &work, Gpu::Call call, const OnGpu &how,
                                          bool *done) {
    *done = false;
    const auto ranks = size_t(self.size);
    if (work.count == 0 || work.count % ranks != 0 || device->device_of(work.input) < 0 ||
        device->device_of(work.output) < 0)
        return {};
    bool ignored = false;
    RINGRT_TRY(device->memory_kind_of(work.input, work.output, &ignored));
    RINGRT_TRY(device->open(work, done));
    if (!*done) return {};
    call.send = work.input, call.recv = work.output;
    call.count = work.count / ranks, call.dtype = work.dtype, call.op = work.op;
    return call_nccl(call, how);
}

Status Communicator::Impl::call_nccl(const Gpu::Call &call, const OnGpu &how) {
    Gpu::Event ready = how.behind;
    if (how.waits && ready == nullptr) RINGRT_TRY(device->mark(&ready));
    watch_gpu();
    return ready != nullptr ? device->by_nccl(call, ready) : device->in_stream_order(call);
}

void Communicator::Impl::watch_gpu() {
    if (gpu_watch == nullptr)
        gpu_watch = std::make_unique<GpuWatch>([this] { return look_at_gpu(); });
    gpu_watch->wake();
}

bool Communicator::Impl::look_at_gpu() {
    std::unique_lock lock(call_mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
        device->watch_call();
        return true;  // elsewhere a call checks for lost ranks itself
    }
    if (failure != RINGRT_OK) {
        device->give_up();
        return false;
    }
    bool idle = true;
    Status seen;
    try {
        seen = device->watch(&idle);
    } catch (const std::exception &e) {
        seen = {RINGRT_SYSTEM_ERROR, format_text("rank %d: %s", self.rank, e.what())};
        device->give_up();
    }
    if (seen.ok()) return !idle;
    (void)answer(std::move(seen));
    return false;
}

ringrt_status_t Communicator::set_stream(void *stream) {
    return impl_->guarded(
        [&]() -> Status {
            RINGRT_TRY(check_started(impl_->started));
            impl_->device->set_stream(stream);
            return {};
        },
        Impl::kBesideRequests);
}

ringrt_status_t Communicator::start_nccl_ahead(int device) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        return impl_->device->start_ahead(device);
    });
}

void Communicator::skip_nccl_ahead() noexcept { impl_->skips_nccl_ahead = true; }

int Communicator::nccl_device() {
    const std::scoped_lock lock(impl_->call_mutex);
    return impl_->device != nullptr ? impl_->device->nccl_device() : -1;
}

bool Communicator::is_on_gpu() {
    const std::scoped_lock lock(impl_->call_mutex);
    return impl_->device != nullptr && impl_->device->is_open();
}

DeviceCollectives &Communicator::device() { return *impl_->device; }

ringrt_status_t Communicator::with_device(const std::function<Status(DeviceCollectives &)> &body) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        if (impl_->device->uses_nccl()) impl_->watch_gpu();
        return body(*impl_->device);
    });
}

ringrt_status_t Communicator::copy_here(void *out, const void *in, size_t bytes) {
    return impl_->guarded([&]() -> Status {
        RINGRT_TRY(check_started(impl_->started));
        if (bytes == 0 || out == in) return {};
        const bool to_gpu = impl_->device->device_of(out) >= 0;
        if (!to_gpu && impl_->device->device_of(in) < 0) return memcpy(out, in, bytes), Status{};
        bool ignored = false;
        Gpu::Event ready;
        const void *on_gpu = to_gpu ? out : in;
        RINGRT_TRY(impl_->device->memory_kind_of(on_gpu, on_gpu, &ignored));
        RINGRT_TRY(impl_->device->mark(&ready));
        return impl_->device->copy_now(out, in, bytes, ready);
    });
}

bool Communicator::on_gpu(const void *memory) {
    return impl_->device != nullptr && impl_->device->device_of(memory) >= 0;
}

void Communicator::leave_to_exit() noexcept {
    impl_->gpu_watch.reset();
    if (impl_->device != nullptr) impl_->device->leave_to_exit();
}

}  // namespace ringrt
