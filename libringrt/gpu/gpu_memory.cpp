// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gpu/gpu_memory.h"

#include <thread>
#include <utility>

#include "libringrt/base/deadline.h"

namespace ringrt {

Status GpuMemory::with_context(Status outcome) const {
    if (!outcome.ok() && !outcome.message.starts_with("rank "))
        outcome.message = format_text("rank %d: %s", options_.rank(), outcome.message.c_str());
    return outcome;
}

Status GpuMemory::open(int device, const char *buffer) {
    if (gpu_ == nullptr) {
        return {RINGRT_UNSUPPORTED,
                format_text("rank %d: buffer %s is in the memory of GPU %d, and this libringrt was "
                            "built without NCCL: register a copy in host memory, or build with "
                            "--with-nccl",
                            options_.rank(), buffer, device)};
    }
    Status opened = with_context(gpu_->open(device));
    if (opened.ok()) device_ = device;
    if (!opened.ok()) opened.message += format_text(" (buffer %s)", buffer);
    return opened;
}

Status GpuMemory::begin() {
    if (!options_.stream) return {};
    Gpu::Event now;
    RINGRT_TRY(with_context(gpu_->mark(options_.stream(), &now)));
    return with_context(gpu_->after(now));
}

Status GpuMemory::start_copy(void *out, const void *in, size_t bytes) {
    return with_context(gpu_->start_copy(out, in, bytes));
}

// The program's stream may wait for a lost rank.
Status GpuMemory::check_peers(Clock::time_point start) {
    if (options_.watch) RINGRT_TRY(options_.watch());
    const double waited_s = std::chrono::duration<double>(Clock::now() - start).count();
    if (waited_s * 1e3 < options_.timeout_ms) return {};
    return {RINGRT_TIMEOUT,
            format_text("GPU %d has not copied for %.1f s: does the stream given to "
                        "ringrt_set_stream() wait for something?",
                        device_, waited_s)};
}

// Polls fast at first.
Status GpuMemory::wait() {
    constexpr auto kBusy = std::chrono::microseconds(200), kNap = std::chrono::microseconds(50);
    const auto start = Clock::now();
    for (auto looked = start;;) {
        Gpu::State state = Gpu::State::Running;
        RINGRT_TRY(with_context(gpu_->look(&state)));
        if (state == Gpu::State::Over) {
            stuck_ = false;
            return {};
        }
        const auto now = Clock::now();
        if (now - looked > std::chrono::milliseconds(kSliceMs)) {
            looked = now;
            Status around = check_peers(start);
            stuck_ = stuck_ || !around.ok();
            RINGRT_TRY(with_context(std::move(around)));
        }
        now - start < kBusy ? std::this_thread::yield() : std::this_thread::sleep_for(kNap);
    }
}

// Has a Gpu, and so a stream, of its own.
class GpuMemory::Copy final : public DeviceCopy {
  public:
    Copy(std::unique_ptr<Gpu> gpu, const GpuMemoryOptions &options)
        : memory_(std::move(gpu), options) {}
    // Memory that an abandoned copy may still write to is never freed.
    ~Copy() override {
        if (!memory_.stuck_) memory_.gpu_->free(data_, false);
    }
    // False: there is no memory.
    bool make(int device, size_t bytes) {
        return memory_.open(device, "").ok() && memory_.gpu_->alloc(bytes, false, &data_).ok();
    }
    Status fill(std::span<const Range> ranges) {
        RINGRT_TRY(memory_.begin());
        auto *at = static_cast<std::byte *>(data_);
        for (const Range &range : ranges) {
            RINGRT_TRY(memory_.start_copy(at, range.data, range.bytes));
            at += range.bytes;
        }
        RINGRT_TRY(memory_.wait());
        memory_.options_.stream = nullptr;  // from now on another thread may use it
        memory_.options_.watch = nullptr;
        return {};
    }
    [[nodiscard]] const std::byte *data() const override {
        return static_cast<const std::byte *>(data_);
    }
    DeviceMemory &reader() override { return memory_; }

  private:
    GpuMemory memory_;
    void *data_ = nullptr;
};

// The program may need more memory before the copy is freed, so at least as much must be left.
Status GpuMemory::copy_on_device(std::span<const Range> ranges, std::unique_ptr<DeviceCopy> *out) {
    size_t bytes = 0, available = 0;
    for (const Range &range : ranges) bytes += range.bytes;
    if (bytes == 0 || !options_.another) return {};
    if (!gpu_->available(&available).ok() || available / 2 < bytes) return {};
    auto copy = std::make_unique<Copy>(options_.another(), options_);
    if (!copy->make(device_, bytes)) return {};
    RINGRT_TRY(copy->fill(ranges));
    *out = std::move(copy);
    return {};
}

Status GpuMemory::alloc(size_t bytes, void **out) {
    return with_context(gpu_->alloc(bytes, true, out));
}

// An abandoned copy may still write to its memory, so that memory is never freed.
void GpuMemory::free(void *memory) {
    if (!stuck_) gpu_->free(memory, true);
}

}  // namespace ringrt
