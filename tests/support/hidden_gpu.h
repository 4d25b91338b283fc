// SPDX-License-Identifier: BSD-3-Clause
// A mock GPU whose memory the host cannot touch: an access dies by SIGSEGV, as on real hardware. It
// is late: a copy runs only when the library queries it, one copy at a time, and the program's
// stream runs only when the library waits for it. It can also fail.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tests/support/fake_gpu.h"

namespace ringrt::test {

// The GPU as a process sees it, plus access for the tests.
class HiddenDevice {
  public:
    explicit HiddenDevice(int gpu = 0) : number(gpu) {}
    ~HiddenDevice() {
        for (auto &[at, memory] : memories_) {
            munmap(at, memory.bytes);
            munmap(memory.behind, memory.bytes);
        }
    }
    HiddenDevice(const HiddenDevice &) = delete;

    int number;
    std::deque<std::function<void()>> program;  // its stream
    int fails_at = -1;        // after this many copies one fails, when it is started, or
    bool fails_late = false;  // when it runs
    bool hangs = false;       // no copy runs
    bool eager = false;       // not late: a copy is over once it is started
    int copies = 0;           // started
    void *marked = nullptr;   // the stream that was waited for last
    size_t pinned = 0, pinned_most = 0;
    bool no_pinned = false;
    bool takes_any_memory = false;  // copies between it and memory that is not pinned
    size_t available = 0;           // bytes that the library may take for itself

    // Allocates like cudaMalloc().
    template <typename T>
    T *make(size_t count) {
        Memory memory{.bytes = count * sizeof(T) + 1};
        const int fd = memfd_create("gpu", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, off_t(memory.bytes)) != 0) abort();
        void *at = mmap(nullptr, memory.bytes, PROT_NONE, MAP_SHARED, fd, 0);
        memory.behind = mmap(nullptr, memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (at == MAP_FAILED || memory.behind == MAP_FAILED) abort();
        memories_[static_cast<char *>(at)] = memory;
        return static_cast<T *>(at);
    }
    void unmake(void *at) {
        const auto found = memories_.find(static_cast<char *>(at));
        if (found == memories_.end()) die("memory is freed that was not allocated");
        munmap(at, found->second.bytes);
        munmap(found->second.behind, found->second.bytes);
        memories_.erase(found);
    }
    [[nodiscard]] size_t allocations() const { return memories_.size(); }
    // The address at which the tests can access it.
    template <typename T>
    T *behind(T *at) const {
        return static_cast<T *>(const_cast<void *>(seen(at, 1)));
    }
    // Like cudaStreamSynchronize() on the program's stream.
    void synchronize() { run_program(program.size()); }
    [[nodiscard]] bool holds(const void *at) const { return find(at) != nullptr; }

    // ---- the driver's side

    [[nodiscard]] Status start_copy(void *out, const void *in, size_t bytes) {
        const int number_of_it = copies++;
        const bool fails = number_of_it == fails_at;
        if (fails && !fails_late) return failure();
        if (!holds(out) && !may_hold(out, bytes)) die("a copy to memory that is not pinned");
        if (!holds(in) && !may_hold(in, bytes)) die("a copy from memory that is not pinned");
        ++running_;
        started_.emplace_back([this, out, in, bytes, fails] {
            --running_;
            if (fails) return false;
            memcpy(const_cast<void *>(seen(out, bytes)), seen(in, bytes), bytes);
            return true;
        });
        for (bool over = false; eager && !hangs && !over && ended_.ok();) ended_ = run_one(&over);
        return {};
    }
    void start_after(size_t of_program) {
        started_.emplace_back([this, of_program] {
            run_program(of_program);
            return true;
        });
    }
    // Runs one step. Sets *over when all steps are done.
    [[nodiscard]] Status run_one(bool *over) {
        *over = started_.empty() && !hangs;
        if (*over || hangs) return std::exchange(ended_, {});
        const auto step = std::move(started_.front());
        started_.pop_front();
        if (step()) return {};
        started_.clear();
        running_ = 0;
        *over = true;
        return failure();
    }
    [[nodiscard]] Status pin(size_t bytes, void **out) {
        if (no_pinned) return {RINGRT_NO_MEMORY, "GPU 0: cuMemHostAlloc: as the test wants"};
        *out = malloc(bytes);
        memset(*out, 0xee, bytes);
        pins_[static_cast<char *>(*out)] = bytes;
        pinned += bytes;
        pinned_most = std::max(pinned, pinned_most);
        return {};
    }
    void unpin(void *memory) {
        const auto found = pins_.find(static_cast<char *>(memory));
        if (found == pins_.end()) die("memory is freed that was not pinned");
        if (running_ > 0) die("memory is freed while copies run");
        pinned -= found->second;
        pins_.erase(found);
        ::free(memory);
    }

  private:
    struct Memory {
        size_t bytes = 0;
        void *behind = nullptr;
    };
    static void die(const char *what) {
        fprintf(stderr, "hidden GPU: %s\n", what);
        abort();
    }
    static Status failure() {
        return {RINGRT_SYSTEM_ERROR, "GPU 0: cuMemcpyAsync: as the test wants"};
    }
    void run_program(size_t until) {
        for (; ran_ < until; ++ran_) program[ran_]();
    }
    [[nodiscard]] const std::pair<char *const, Memory> *find(const void *at) const {
        auto after = memories_.upper_bound(static_cast<char *>(const_cast<void *>(at)));
        if (after == memories_.begin()) return nullptr;
        --after;
        return static_cast<const char *>(at) < after->first + after->second.bytes ? &*after
                                                                                  : nullptr;
    }
    [[nodiscard]] const void *seen(const void *at, size_t bytes) const {
        const auto *found = find(at);
        if (found == nullptr) return at;
        const auto offset = size_t(static_cast<const char *>(at) - found->first);
        if (offset + bytes > found->second.bytes) die("a copy beyond the end");
        return static_cast<const char *>(found->second.behind) + offset;
    }
    [[nodiscard]] bool may_hold(const void *at, size_t bytes) const {
        if (takes_any_memory) return true;
        for (const auto &[start, length] : pins_)
            if (at >= start && static_cast<const char *>(at) + bytes <= start + length) return true;
        return false;
    }

    std::map<char *, Memory> memories_;
    std::map<char *, size_t> pins_;
    std::deque<std::function<bool()>> started_;  // of the library's stream
    Status ended_;                               // a result that was not queried yet
    int running_ = 0;                            // how many of these are copies
    size_t ran_ = 0;                             // tasks of the program's stream that ran
};

class HiddenGpu : public FakeGpu {
  public:
    explicit HiddenGpu(HiddenDevice &device)
        : FakeGpu({.number = device.number}), device_(device) {}

    int device_of(const void *memory) override {
        return device_.holds(memory) ? device_.number : -1;
    }
    Status mark(void *stream, Event *out) override {
        device_.marked = stream;
        *out = std::make_shared<size_t>(device_.program.size());
        return {};
    }
    Status after(const Event &event) override {
        device_.start_after(*std::static_pointer_cast<size_t>(event));
        return {};
    }
    Status start_copy(void *out, const void *in, size_t bytes) override {
        return device_.start_copy(out, in, bytes);
    }
    Status look(State *out) override {
        bool over = false;
        Status status = device_.run_one(&over);
        *out = over ? State::Over : State::Running;
        return status;
    }
    Status alloc(size_t bytes, bool host, void **out) override {
        if (host) return device_.pin(bytes, out);
        if (bytes > device_.available) return {RINGRT_NO_MEMORY, "GPU 0: cuMemAlloc: too little"};
        *out = device_.make<std::byte>(bytes);
        return {};
    }
    void free(void *memory, bool host) override {
        if (memory == nullptr) return;
        host ? device_.unpin(memory) : device_.unmake(memory);
    }
    Status available(size_t *bytes) override {
        *bytes = device_.available;
        return {};
    }

  private:
    HiddenDevice &device_;
};

}  // namespace ringrt::test
