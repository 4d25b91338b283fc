// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gpu/device_collectives.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>

namespace ringrt {
namespace {

constexpr size_t kStagingBytes = 32 << 20;
constexpr const char *kRouteNames[] = {"auto", "nccl", "hierarchical", "ipc", "host"};

std::byte *at(void *memory, size_t offset) { return static_cast<std::byte *>(memory) + offset; }
const std::byte *at(const void *memory, size_t offset) {
    return static_cast<const std::byte *>(memory) + offset;
}

}  // namespace

int DeviceCollectives::requested_route() {
    const char *requested = getenv("RINGRT_GPU");
    std::string_view name = requested == nullptr || *requested == 0 ? "auto" : requested;
    auto found = std::find(std::begin(kRouteNames), std::end(kRouteNames), name);
    return int(found - std::begin(kRouteNames));
}

DeviceCollectives::~DeviceCollectives() {
    if (gpu_ == nullptr) return;
    gpu_->nccl_end(true);
    release();
}

void DeviceCollectives::release() {
    for (void *&each : mapped_) gpu_->close_shared(std::exchange(each, nullptr));
    mapped_.clear();
    gpu_->free(std::exchange(staging_, nullptr), false);
    gpu_->free(std::exchange(part_, nullptr), false);
    gpu_->free(std::exchange(bounce_, nullptr), true);
}

Status DeviceCollectives::memory_kind_of(const void *send, const void *recv, bool *on_gpu) {
    *on_gpu = false;
    int of_send = device_of(send), of_recv = send == recv ? of_send : device_of(recv);
    *on_gpu = of_send >= 0;
    if (of_send < 0 && of_recv < 0) return {};
    if (gpu_ == nullptr) {
        return {
            RINGRT_UNSUPPORTED,
            format_text("rank %d: this buffer is in the memory of GPU %d, and this libringrt was "
                        "built without NCCL: copy it to host memory, or build with --with-nccl",
                        self_.rank, std::max(of_send, of_recv))};
    }
    if (of_send != of_recv) {
        return {RINGRT_INVALID_ARGUMENT,
                format_text("rank %d: send and recv lie on different devices (GPU %d and %d; -1 is "
                            "ordinary memory): both must be on one",
                            self_.rank, of_send, of_recv)};
    }
    std::lock_guard lock(open_mutex_);
    RINGRT_TRY(gpu_->open(of_send));
    device_ = of_send;
    return {};
}

// Polls fast at first, unless training continues meanwhile. Checks for lost ranks and the deadline
// once per slice.
Status DeviceCollectives::wait(Gpu &gpu, const char *phase, uint32_t timeout_ms) {
    const bool ahead = &gpu == ahead_.gpu.get();
    const auto kBusy = std::chrono::microseconds(ahead ? 0 : 200),
               kNap = std::chrono::microseconds(ahead ? 1000 : 50);
    Deadline deadline(self_, phase, timeout_ms);
    auto start = Clock::now(), looked = start;
    for (;;) {
        Gpu::State state = Gpu::State::Running;
        Status status = gpu.look(&state);
        if (status.ok() && (state == Gpu::State::Over || (ahead && host_.skips_ahead()))) return {};
        auto now = Clock::now();
        if (status.ok() && (self_.aborted || now - looked > std::chrono::milliseconds(kSliceMs))) {
            looked = now;
            status = host_.watch();
            if (status.ok()) status = deadline.check(-1);
        }
        if (!status.ok()) return failed(std::move(status), phase);
        now - start < kBusy ? std::this_thread::yield() : std::this_thread::sleep_for(kNap);
    }
}

Status DeviceCollectives::copy_now(void *out, const void *in, size_t bytes,
                                   const Gpu::Event &ready) {
    if (ready != nullptr) RINGRT_TRY(gpu_->after(ready));
    RINGRT_TRY(gpu_->start_copy(out, in, bytes));
    return wait("a copy");
}

Status DeviceCollectives::make(size_t bytes, bool host, void **out) {
    return *out != nullptr ? Status{} : gpu_->alloc(bytes, host, out);
}

std::vector<int> DeviceCollectives::neighbours() const {
    return topology_.ranks_of(topology_.node_of_rank[size_t(self_.rank)]);
}

Status DeviceCollectives::open(const Work &work, bool *in_stream_order) {
    if (reinterpret_cast<uintptr_t>(work.input) % work.element_bytes != 0 ||
        reinterpret_cast<uintptr_t>(work.output) % work.element_bytes != 0) {
        return {
            RINGRT_INVALID_ARGUMENT,
            format_text("rank %d: a buffer on a GPU must be aligned to its elements", self_.rank)};
    }
    if (!opened_) {
        RINGRT_TRY(host_.meet(work));  // detects ranks that call something else
        RINGRT_TRY(agree(work));
    }
    *in_stream_order = route_ == Nccl;
    return {};
}

Status DeviceCollectives::allreduce(const Work &work, const Gpu::Event &ready) {
    bool has_nccl = false;
    RINGRT_TRY(open(work, &has_nccl));
    if (has_nccl)
        return by_nccl(
            {Gpu::Call::Allreduce, work.input, work.output, work.count, work.dtype, work.op},
            ready);
    RINGRT_TRY(host_.meet(work));
    RINGRT_TRY(gpu_->after(ready));
    switch (route_) {
        case Hierarchical:
            return with_nccl_per_node(work);
        case Ipc:  // reduce.cu has no types of one byte
            return work.element_bytes == 1 ? through_host(work) : with_ipc(work);
        default:
            return through_host(work);
    }
}

// ---- the first call -----------------------------------------------------------------------------

// Decides from all ranks' GPUs, so that all choose alike.
Status DeviceCollectives::choose(const std::vector<RankGpu> &gpus) {
    for (size_t r = 0; r < gpus.size(); ++r) {
        if (gpus[r].requested == gpus[0].requested && gpus[r].requested < kRoutes) continue;
        return {RINGRT_MISMATCH,
                format_text("RINGRT_GPU is not auto, nccl, hierarchical, ipc or host, the same at "
                            "all ranks: see ranks 0 and %zu",
                            r),
                int(r)};
    }
    bool nccl = true, reduces = gpus.size() <= Gpu::kSourcesMax && topology_.nodes == 1;
    shared_ = false;
    for (size_t r = 0; r < gpus.size(); ++r) {
        nccl = nccl && gpus[r].has_nccl != 0;
        reduces = reduces && gpus[r].can_reduce != 0;
        for (size_t other = 0; other < r; ++other)
            shared_ = shared_ || gpus[r].gpu == gpus[other].gpu;
    }
    route_ = Route(gpus[0].requested);
    if (route_ == Auto) route_ = nccl && !shared_ ? Nccl : reduces ? Ipc : Through;
    bool able = route_ == Nccl           ? nccl
                : route_ == Hierarchical ? nccl && topology_.nodes > 1 && topology_.regular()
                : route_ == Ipc          ? reduces
                                         : true;
    if (able) return {};
    return {RINGRT_UNSUPPORTED,
            format_text("rank %d: RINGRT_GPU=%s is not possible here (nccl: libnccl.so.2 at every "
                        "rank; hierarchical: also the same number of ranks on every node; ipc: one "
                        "node, 16 ranks, a driver as new as the nvcc of the build)",
                        self_.rank, kRouteNames[route_])};
}

DeviceCollectives::RankGpu DeviceCollectives::report(Gpu &gpu) {
    return {.gpu = gpu.name(), .requested = requested_route(), .has_nccl = gpu.has_nccl()};
}

Status DeviceCollectives::agree(const Work &work) {
    RankGpu mine = report(*gpu_);
    mine.can_reduce = !mine.has_nccl || self_.size > 1 ? gpu_->can_reduce() : 0;
    mine.ahead = ahead_.gpu != nullptr && ahead_.device == device_;
    std::vector<RankGpu> gpus(size_t(self_.size), RankGpu{});
    RINGRT_TRY(host_.all_gather(&mine, gpus.data(), sizeof mine));
    RINGRT_TRY(choose(gpus));
    if (const bool started = take_ahead(gpus); is_nccl(route_) && !started)
        RINGRT_TRY(start_nccl(*gpu_, route_));
    if (route_ == Ipc) {
        bool all_could = false;
        RINGRT_TRY(open_staging(kStagingBytes, &all_could));
        if (!all_could) route_ = Through;
        if (!all_could && gpus[0].requested == Ipc)
            self_.warn(
                format_text("rank %d: CUDA IPC is not possible here (%s goes through the "
                            "host's memory)",
                            self_.rank,
                            describe({.kind = kDeviceAllreduce,
                                      .dtype = uint8_t(work.dtype),
                                      .op = uint8_t(work.op),
                                      .count = work.count})
                                .c_str()));
    }
    opened_ = true;
    return {};
}

Status DeviceCollectives::start_nccl(Gpu &gpu, Route route) {
    const char *phase = route == Nccl ? "the start of NCCL" : "the start of NCCL on the node";
    std::vector<int> ranks(size_t(self_.size), 0);
    std::iota(ranks.begin(), ranks.end(), 0);
    if (route == Hierarchical) ranks = neighbours();
    Gpu::Secret mine{};
    bool first = ranks.front() == self_.rank;
    if (first) RINGRT_TRY(gpu.nccl_unique_id(&mine));
    std::vector<Gpu::Secret> all(size_t(self_.size), Gpu::Secret{});
    RINGRT_TRY(host_.all_gather(&mine, all.data(), sizeof mine));
    int index = int(std::find(ranks.begin(), ranks.end(), self_.rank) - ranks.begin());
    Status started = gpu.nccl_start(all[size_t(ranks.front())], index, int(ranks.size()));
    if (started.ok()) started = wait(gpu, phase, host_.start_timeout_ms);
    // NCCL decides whether ranks may share a GPU. It allows it between ranks with different
    // NCCL_HOSTID.
    if (shared_ && started.code == RINGRT_SYSTEM_ERROR)
        started = {RINGRT_UNSUPPORTED,
                   format_text("rank %d: ranks share a GPU, and NCCL does not start: unset "
                               "RINGRT_GPU; %s",
                               self_.rank, started.message.c_str())};
    return started;
}

// Opens each rank's staging at all ranks; *all_could: every rank succeeded.
Status DeviceCollectives::open_staging(size_t each, bool *all_could) {
    struct Shown {
        Gpu::Handle handle;
        uint64_t could;
    } mine{};
    bool could = make(each, false, &staging_).ok() && gpu_->share(staging_, &mine.handle).ok();
    mine.could = could ? 1 : 0;
    std::vector<Shown> all(size_t(self_.size), Shown{});
    RINGRT_TRY(host_.all_gather(&mine, all.data(), sizeof mine));
    mapped_.assign(size_t(self_.size), nullptr);
    for (size_t r = 0; r < all.size() && could; ++r) {
        if (int(r) != self_.rank)
            could = all[r].could != 0 && gpu_->open_shared(all[r].handle, &mapped_[r]).ok();
    }
    uint8_t opened = could ? 1 : 0;
    std::vector<uint8_t> every(size_t(self_.size), 0);
    RINGRT_TRY(host_.all_gather(&opened, every.data(), 1));
    *all_could = std::count(every.begin(), every.end(), 1) == self_.size;
    return {};
}

Status DeviceCollectives::end() {
    ahead_.gpu.reset();
    if (!opened_) return {};
    if (!pending_.empty()) {
        RINGRT_TRY(after_last());
        RINGRT_TRY(wait(kByNccl));
    }
    pending_.clear();
    last_ = nullptr;
    gpu_->nccl_end(false);
    for (void *&each : mapped_) gpu_->close_shared(std::exchange(each, nullptr));
    RINGRT_TRY(host_.meet({}));  // no rank frees memory that another still has open
    release();
    opened_ = false;
    return {};
}

// ---- the routes -------------------------------------------------------------------------------

// Waits for NCCL's calls before more work is enqueued: non-blocking calls may not be in the stream
// yet when they return.
Status DeviceCollectives::with_nccl_per_node(const Work &work) {
    const char *phase = "an allreduce by NCCL within the node";
    std::vector<int> here = neighbours();
    size_t size = work.element_bytes, ranks = here.size();
    size_t each_max = kStagingBytes / size / ranks;
    RINGRT_TRY(make(kStagingBytes, false, &staging_));
    RINGRT_TRY(make(kStagingBytes, false, &part_));
    RINGRT_TRY(make(kStagingBytes, true, &bounce_));
    ringrt_op_t within = work.op == RINGRT_AVG ? RINGRT_SUM : work.op;
    for (size_t first = 0; first < work.count;) {
        size_t count = std::min(each_max * ranks, work.count - first),
               each = (count + ranks - 1) / ranks;
        RINGRT_TRY(gpu_->start_copy(staging_, at(work.input, first * size), count * size));
        RINGRT_TRY(call_watched(std::array{Gpu::Call{Gpu::Call::ReduceScatter, staging_, part_,
                                                     each, work.dtype, within}},
                                {}));
        RINGRT_TRY(wait(phase));
        RINGRT_TRY(gpu_->start_copy(bounce_, part_, each * size));
        RINGRT_TRY(wait(phase));
        Work between = work;
        between.input = between.output = bounce_, between.count = each;
        RINGRT_TRY(host_.allreduce_on_rail(between));
        RINGRT_TRY(gpu_->start_copy(part_, bounce_, each * size));
        RINGRT_TRY(call_watched(
            std::array{Gpu::Call{Gpu::Call::AllGather, part_, staging_, each, work.dtype}}, {}));
        RINGRT_TRY(wait(phase));
        RINGRT_TRY(gpu_->start_copy(at(work.output, first * size), staging_, count * size));
        RINGRT_TRY(wait(phase));
        first += count;
    }
    return {};
}

Status DeviceCollectives::with_ipc(const Work &work) {
    const char *phase = "an allreduce on a shared GPU";
    size_t size = work.element_bytes, most = kStagingBytes / size;
    std::vector<const void *> sources(mapped_.begin(), mapped_.end());
    sources[size_t(self_.rank)] = staging_;
    for (size_t first = 0; first < work.count; first += most) {
        size_t count = std::min(most, work.count - first);
        RINGRT_TRY(gpu_->start_copy(staging_, at(work.input, first * size), count * size));
        RINGRT_TRY(wait(phase));
        RINGRT_TRY(host_.meet(work));
        RINGRT_TRY(
            gpu_->start_reduce(sources, at(work.output, first * size), count, work.dtype, work.op));
        RINGRT_TRY(wait(phase));
        RINGRT_TRY(host_.meet(work));  // all have read: the staging may change
    }
    return {};
}

Status DeviceCollectives::through_host(const Work &work) {
    size_t size = work.element_bytes, most = kStagingBytes / size;
    RINGRT_TRY(make(kStagingBytes, true, &bounce_));
    for (size_t first = 0; first < work.count; first += most) {
        size_t count = std::min(most, work.count - first);
        RINGRT_TRY(copy_now(bounce_, at(work.input, first * size), count * size));
        Work piece = work;
        piece.input = piece.output = bounce_, piece.count = count;
        RINGRT_TRY(host_.allreduce(piece));
        RINGRT_TRY(copy_now(at(work.output, first * size), bounce_, count * size));
    }
    return {};
}

}  // namespace ringrt
