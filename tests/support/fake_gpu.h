// SPDX-License-Identifier: BSD-3-Clause
// A mock Gpu for tests of everything above transport/gpu.h on machines without a GPU. Its memory is
// ordinary memory (of this process, or mapped from a file by others), its streams run at once, and
// its NCCL sums over a file that the ranks map.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "libringrt/gpu/gpu.h"
#include "libringrt/reduce/reduce.h"

namespace ringrt::test {

struct FakeGpuPlan {
    int number = 0;  // ranks with the same number share a GPU
    bool nccl = true, reduces = true, opens = true;
    bool hang = false;                   // NCCL never ends, as when a rank is gone
    bool blocks = false;                 // a call does not return until NCCL is stopped
    int fail_after = -1;                 // NCCL fails after this many queries; -1: never
    int start_ms = 0;                    // how long NCCL's initialization takes
    bool start_fails = false;            // NCCL's initialization fails at this rank
    std::atomic<int> *aborts = nullptr;  // counts the NCCL communicators that were aborted
};

class FakeGpu : public Gpu {
  public:
    explicit FakeGpu(FakeGpuPlan plan) : plan_(plan) {}
    ~FakeGpu() override {
        if (keeps_memory) return;
        for (auto &[memory, bytes] : known()) munmap(memory, bytes);
    }

    // The program's memory outlives a communicator's GPU.
    static inline bool keeps_memory = false;

    // Allocates as a program does: memory that device_of() recognizes.
    static void *make(size_t bytes) {
        void *made =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        known()[made] = bytes;
        return made;
    }

    int device_of(const void *memory) override {
        auto after = known().upper_bound(const_cast<void *>(memory));
        if (after == known().begin()) return -1;
        const auto &[start, bytes] = *--after;
        auto offset = size_t(static_cast<const char *>(memory) - static_cast<char *>(start));
        return offset < bytes ? plan_.number : -1;
    }
    int current_device() override { return plan_.number; }
    Status open(int) override { return {}; }
    Name name() const override {
        Name out{};
        memcpy(out.data(), &plan_.number, sizeof plan_.number);
        return out;
    }
    Status check_not_captured(void *) override { return {}; }
    Status mark(void *, Event *out) override {
        *out = std::make_shared<Point>(program_is_stuck_ || stuck());
        return {};
    }
    Status make_stream_wait(void *, const Event &event) override {
        RINGRT_TRY(is_event(event));
        program_is_stuck_ = program_is_stuck_ || static_cast<const Point *>(event.get())->never;
        return {};
    }
    Status passed(const Event &event, bool *out) override {
        *out = !static_cast<const Point *>(event.get())->never;
        return {};
    }
    Status between(const Event &from, const Event &to, double *us) override {
        *us = std::chrono::duration<double, std::micro>(static_cast<const Point *>(to.get())->at -
                                                        static_cast<const Point *>(from.get())->at)
                  .count();
        return {};
    }
    Status mark_own(Event *out) override {
        *out = std::make_shared<Point>(stuck());
        return {};
    }
    Status after(const Event &event) override { return is_event(event); }
    Status start_copy(void *out, const void *in, size_t bytes) override {
        memmove(out, in, bytes);
        return {};
    }
    bool can_reduce() override { return plan_.reduces; }
    Status start_reduce(std::span<const void *const> sources, void *out, size_t count,
                        ringrt_dtype_t dtype, ringrt_op_t op) override {
        reduce({.dtype = dtype,
                .op = op,
                .ranks = int(sources.size()),
                .sources = sources,
                .out = out,
                .count = count});
        return {};
    }
    Status look(State *out) override {
        bool ignored = false;
        const bool starts = is_starting();
        if (!starts) RINGRT_TRY(is_alone_on_its_gpu());
        *out = starts || stuck() ? State::Running : State::Over;
        return entered(&ignored);
    }
    Status entered(bool *out) override {
        *out = true;
        if (started_ && plan_.fail_after >= 0 && looks_++ >= plan_.fail_after)
            return {RINGRT_PEER_LOST, "NCCL on GPU 0: asynchronous error: remote"};
        return {};
    }

    Status alloc(size_t bytes, bool host, void **out) override {
        if (host) {
            *out = ::malloc(bytes);
            return {};
        }
        fd_ = memfd_create("fake-gpu", MFD_CLOEXEC);
        if (ftruncate(fd_, off_t(bytes)) != 0) return {RINGRT_NO_MEMORY, "ftruncate"};
        *out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        name_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
        bytes_ = bytes;
        return {};
    }
    void free(void *memory, bool host) override {
        if (memory == nullptr) return;
        if (host) return ::free(memory);
        munmap(memory, bytes_);
        ::close(fd_);
    }
    Status available(size_t *bytes) override {
        *bytes = 0;
        return {};
    }
    Status share(void *, Handle *out) override {
        memcpy(out->data(), name_.c_str(), name_.size() + 1);
        return {};
    }
    Status open_shared(const Handle &handle, void **out) override {
        if (!plan_.opens) return {RINGRT_SYSTEM_ERROR, "no peer access"};
        int fd = ::open(reinterpret_cast<const char *>(handle.data()), O_RDWR);
        if (fd < 0) return {RINGRT_SYSTEM_ERROR, "no such memory"};
        *out = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        return {};
    }
    void close_shared(void *memory) override {
        if (memory != nullptr) munmap(memory, bytes_);
    }

    bool has_nccl() override { return plan_.nccl; }
    Status nccl_unique_id(Secret *out) override {
        const std::string name =
            "/dev/shm/fake-nccl-" + std::to_string(getpid()) + "-" + std::to_string(ids_made()++);
        memcpy(out->data(), name.c_str(), name.size() + 1);
        return {};
    }
    // Does not wait for the others.
    Status nccl_start(const Secret &secret, int rank, int ranks) override {
        if (plan_.start_fails) return {RINGRT_SYSTEM_ERROR, "NCCL on GPU 0: as the test wants"};
        file_ = reinterpret_cast<const char *>(secret.data());
        int fd = ::open(file_.c_str(), O_RDWR | O_CREAT, 0600);
        if (ftruncate(fd, off_t(sizeof(Ring))) != 0) return {RINGRT_SYSTEM_ERROR, "ftruncate"};
        ring_ = static_cast<Ring *>(
            mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        ::close(fd);
        rank_ = rank, ranks_ = ranks;
        ring_->numbers[rank] = plan_.number;
        up_at_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(plan_.start_ms);
        if (++ring_->started == ranks) unlink(file_.c_str());
        return {};
    }
    void take_nccl(Gpu &other) override {
        auto &from = static_cast<FakeGpu &>(other);
        ring_ = std::exchange(from.ring_, nullptr);
        rank_ = from.rank_, ranks_ = from.ranks_, up_at_ = from.up_at_;
    }
    Status nccl_call(std::span<const Call> calls, Stream) override {
        while (plan_.blocks && !stopped_) usleep(1000);
        if (plan_.blocks) return {RINGRT_SYSTEM_ERROR, "NCCL on GPU 0: a group of calls: stopped"};
        for (const Call &each : calls) RINGRT_TRY(call(each));
        return {};
    }
    void nccl_stop() override { stopped_ = true; }
    void nccl_end(bool failed) override {
        if (failed && ring_ != nullptr && plan_.aborts != nullptr) ++*plan_.aborts;
        started_ = false;
        if (ring_ != nullptr && ring_->started < ranks_) unlink(file_.c_str());
        ring_ = nullptr;
    }

  protected:
    [[nodiscard]] int ranks() const { return ranks_; }  // of NCCL

  private:
    static constexpr int kRanksMost = 8;
    struct Point {
        explicit Point(bool behind_a_hang) : never(behind_a_hang) {}
        bool never;  // passed
        std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
    };
    static Status is_event(const Event &event) {
        return event != nullptr ? Status{} : Status{RINGRT_SYSTEM_ERROR, "no event"};
    }
    [[nodiscard]] bool stuck() const {
        return started_ && (plan_.hang || plan_.fail_after >= 0 || left_alone_);
    }
    Status call(const Call &each) {
        started_ = true;
        if (stuck()) return {};
        if (each.kind == Call::AllGather) return all_gather(each);
        const bool all = each.kind == Call::Allreduce;
        const auto ranks = size_t(ranks_);
        return sum(each, all ? each.count : each.count * ranks,
                   all ? 0 : each.count * size_t(rank_));
    }
    // Sums `count` elements of all ranks. This rank gets each.count of them, from `first` on.
    Status sum(const Call &each, size_t count, size_t first) {
        size_t size = dtype_bytes(each.dtype);
        if (count * size > sizeof ring_->data[0]) return {RINGRT_NO_MEMORY, "too many for a fake"};
        memcpy(ring_->data[rank_], each.send, count * size);
        gate();
        std::vector<const void *> sources;
        for (int r = 0; r < ranks_; ++r) sources.push_back(ring_->data[r] + first * size);
        reduce({.dtype = each.dtype,
                .op = each.op,
                .ranks = ranks_,
                .sources = sources,
                .out = each.recv,
                .count = each.count});
        gate();
        return {};
    }
    Status all_gather(const Call &each) {
        size_t bytes = each.count * dtype_bytes(each.dtype);
        memcpy(ring_->data[rank_], each.send, bytes);
        gate();
        for (int r = 0; r < ranks_; ++r)
            memcpy(static_cast<char *>(each.recv) + size_t(r) * bytes, ring_->data[r], bytes);
        gate();
        return {};
    }
    struct Ring {
        std::atomic<int> started, come;
        int numbers[kRanksMost];  // the ranks' GPUs
        char data[kRanksMost][1 << 20];
    };
    [[nodiscard]] bool is_starting() const {
        return std::chrono::steady_clock::now() < up_at_ ||
               (ring_ != nullptr && ring_->started < ranks_);
    }
    [[nodiscard]] Status is_alone_on_its_gpu() const {
        for (int r = 0; ring_ != nullptr && r < ranks_; ++r) {
            if (r != rank_ && ring_->numbers[r] == plan_.number)
                return {RINGRT_SYSTEM_ERROR, "NCCL on GPU 0: two ranks on one GPU"};
        }
        return {};
    }
    void gate() {  // a barrier of all ranks
        int before = ring_->come++, goal = (before / ranks_ + 1) * ranks_;
        while (ring_->come < goal && !stopped_) usleep(20);
        left_alone_ = left_alone_ || ring_->come < goal;  // what it computes never ends
    }
    static std::atomic<int> &ids_made() {
        static std::atomic<int> count = 0;
        return count;
    }
    static std::map<void *, size_t> &known() {
        static std::map<void *, size_t> memory;
        return memory;
    }
    FakeGpuPlan plan_;
    std::string name_, file_;  // of memory to share, and of NCCL's ring
    int fd_ = -1;
    size_t bytes_ = 0;
    Ring *ring_ = nullptr;
    int rank_ = 0, ranks_ = 1, looks_ = 0;
    std::atomic<bool> started_ = false, program_is_stuck_ = false, left_alone_ = false,
                      stopped_ = false;
    std::chrono::steady_clock::time_point up_at_{};
};

}  // namespace ringrt::test
