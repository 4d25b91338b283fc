// SPDX-License-Identifier: BSD-3-Clause
// The stream-ordered part of DeviceCollectives: enqueues work and watches it.
#include <array>
#include <thread>
#include <utility>

#include "libringrt/gpu/device_collectives.h"

namespace ringrt {

// In the program's stream itself, so that nothing waits between it and the library's.
Status DeviceCollectives::in_stream_order(const Gpu::Call &call) {
    const Gpu::Stream stream{.own = false, .program = stream_};
    RINGRT_TRY(gpu_->check_not_captured(stream.program));
    if (last_ != nullptr && stream != last_stream_)
        RINGRT_TRY(gpu_->make_stream_wait(stream.program, last_));
    RINGRT_TRY(call_nccl(std::array{call}, stream));
    RINGRT_TRY(gpu_->mark(stream.program, &last_));
    last_stream_ = stream;
    pending_.push_back(last_);
    return {};
}

Status DeviceCollectives::call_nccl(std::span<const Gpu::Call> calls, Gpu::Stream stream) {
    host_.note(calls);
    Status called = call_watched(calls, stream);
    if (!called.ok()) return failed(std::move(called), kByNccl);
    return until_entered(kByNccl);
}

Status DeviceCollectives::call_watched(std::span<const Gpu::Call> calls, Gpu::Stream stream) {
    {
        const std::scoped_lock lock(nccl_call_.mutex);
        nccl_call_.in_progress = true;
        nccl_call_.deadline.reset();
    }
    Status called = gpu_->nccl_call(calls, stream);
    const std::scoped_lock lock(nccl_call_.mutex);
    nccl_call_.in_progress = false;
    return nccl_call_.failure.ok() ? called : std::exchange(nccl_call_.failure, {});
}

Status DeviceCollectives::after_last() {
    return last_ == nullptr || last_stream_.own ? Status{} : gpu_->after(last_);
}

Status DeviceCollectives::by_nccl(const Gpu::Call &call, const Gpu::Event &ready) {
    Enqueued ignored;
    RINGRT_TRY(enqueue(std::array{call}, std::array{ready}, &ignored));
    return wait(kByNccl);
}

Status DeviceCollectives::enqueue(std::span<const Gpu::Call> calls,
                                  std::span<const Gpu::Event> after, Enqueued *out) {
    for (const Gpu::Event &event : after) RINGRT_TRY(gpu_->after(event));
    RINGRT_TRY(after_last());
    RINGRT_TRY(gpu_->mark_own(&out->begun));
    if (!calls.empty()) RINGRT_TRY(call_nccl(calls, {}));
    RINGRT_TRY(gpu_->mark_own(&out->ended));
    last_ = out->ended, last_stream_ = {};
    pending_.push_back(out->ended);
    return {};
}

// Later work in the library's stream must come after NCCL's calls. They mostly enter at once.
Status DeviceCollectives::until_entered(const char *phase) {
    std::optional<Deadline> deadline;
    for (auto looked = Clock::now();;) {
        bool there = false;
        Status status = gpu_->entered(&there);
        if (status.ok() && there) return {};
        if (const auto now = Clock::now();
            status.ok() && (self_.aborted || now - looked > std::chrono::milliseconds(1))) {
            looked = now;
            if (!deadline) deadline.emplace(self_, phase);
            status = host_.watch();
            if (status.ok()) status = deadline->check(-1);
        }
        if (!status.ok()) return failed(std::move(status), phase);
        std::this_thread::yield();
    }
}

Status DeviceCollectives::watch(bool *idle) {
    *idle = true;
    if (gpu_ == nullptr) return {};
    bool over = !pending_.empty();
    while (over) {
        Status asked = gpu_->passed(pending_.front(), &over);
        if (!asked.ok()) return failed(std::move(asked), kByNccl);
        if (!over) break;
        pending_.pop_front();
        of_first_.reset();
        over = !pending_.empty();
    }
    *idle = pending_.empty();
    if (*idle) return {};
    if (!of_first_) of_first_.emplace(self_, kByNccl);
    bool ignored = false;
    Status status = gpu_->entered(&ignored);
    if (status.ok()) status = host_.watch();
    if (status.ok()) status = of_first_->check(-1);
    return status.ok() ? status : failed(std::move(status), kByNccl);
}

}  // namespace ringrt
