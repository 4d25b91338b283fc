// SPDX-License-Identifier: BSD-3-Clause
// Measures how fast a checkpoint is loaded to the memory of a GPU and to host memory, compared with
// read() of the same files. There is no GPU: a copy costs its caller 3 us and ends after the time
// that 25 GB/s take, and the host does not do it. It is not a test, because timings depend on the
// machine's load. Rounds are interleaved, and it prints medians.
//
//     device_load [DIRECTORY [MiB [ROUNDS [cold]]]]
//
// With "cold" the files are dropped from the cache before each read; otherwise they stay in it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "libringrt/checkpoint/load.h"
#include "libringrt/checkpoint/save.h"
#include "tests/support/thread_group.h"

using namespace ringrt;
using namespace ringrt::checkpoint;

namespace {

namespace fs = std::filesystem;
using Time = std::chrono::steady_clock;

[[noreturn]] void die(const std::string &what) {
    fprintf(stderr, "%s\n", what.c_str());
    exit(1);
}

void expect_ok(const Status &outcome) {
    if (!outcome.ok()) die(outcome.message);
}

// Memory whose pages exist.
std::byte *memory_of(size_t bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) die("no memory");
    return static_cast<std::byte *>(at);
}

// A GPU that only takes time.
class TimedDevice final : public DeviceMemory {
  public:
    Status begin() override { return {}; }
    Status start_copy(void *, const void *, size_t bytes) override {
        const auto called = Time::now();
        while (Time::now() - called < std::chrono::microseconds(3)) continue;
        over_ = std::max(over_, called) +
                std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(bytes) / 25.0));
        return {};
    }
    Status wait() override {
        std::this_thread::sleep_until(over_);
        return {};
    }
    Status alloc(size_t bytes, void **out) override {
        if (bytes > kPinned) die("too much pinned memory");
        *out = pinned_;
        return {};
    }
    void free(void *) override {}

  private:
    static constexpr size_t kPinned = 64 << 20;
    std::byte *const pinned_ = memory_of(kPinned);  // what this takes is not measured
    Time::time_point over_;
};

double seconds(const std::function<void()> &what) {
    const auto begun = Time::now();
    what();
    return std::chrono::duration<double>(Time::now() - begun).count();
}

struct Bench {
    fs::path directory;
    size_t bytes;
    bool cold;
    std::byte *data = memory_of(bytes);
    std::byte *block = memory_of(8 << 20);
    TimedDevice device;

    std::vector<Buffer> buffers(bool on_device) {
        std::vector<Buffer> out;
        constexpr uint64_t kBuffers = 8;
        const uint64_t each = bytes / kBuffers;
        for (uint64_t i = 0; i < kBuffers; ++i)
            out.push_back({.parameter = {.name = "w" + std::to_string(i),
                                         .dtype = RINGRT_UINT8,
                                         .shape = {each}},
                           .data = data + i * each,
                           .bytes = each,
                           .device = on_device ? &device : nullptr});
        return out;
    }
    void save() {
        for (size_t i = 0; i < bytes; i += 512) data[i] = std::byte(i >> 9 & 0xff);
        test::run_ranks(1, [&](Group &group) {
            Store store(real_files(), directory, {}, 3);
            Saver saver(group, store, {});
            expect_ok(saver.start(buffers(false), {.step = 1}, SaveMode::inline_write));
            expect_ok(saver.finish());
        });
    }
    void drop() const {
        if (!cold) return;
        for (const auto &entry : fs::recursive_directory_iterator(directory)) {
            const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
            if (fd >= 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), close(fd);
        }
    }
    double read_s() {
        drop();
        return seconds([&] {
            for (const auto &entry : fs::recursive_directory_iterator(directory)) {
                if (!entry.is_regular_file()) continue;
                const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
                while (read(fd, block, 8 << 20) > 0) continue;
                close(fd);
            }
        });
    }
    double load_s(bool on_device) {
        const std::vector<Buffer> all = buffers(on_device);
        drop();
        double took = 0;
        test::run_ranks(1, [&](Group &group) {
            Store store(real_files(), directory, {}, 3);
            Manifest manifest;
            took = seconds([&] { expect_ok(load(group, store, all, manifest)); });
        });
        return took;
    }
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char **argv) {
    const fs::path directory =
        fs::path(argc > 1 ? argv[1] : "/tmp") / ("device_load." + std::to_string(getpid()));
    const size_t mib = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1024;
    const int rounds = argc > 3 ? atoi(argv[3]) : 9;
    Bench bench{.directory = directory, .bytes = mib << 20, .cold = argc > 4};
    bench.save();
    std::vector<double> read, device, host;
    bench.read_s();  // what a disk's host caches is the same for all
    for (int round = 0; round < rounds; ++round) {
        read.push_back(bench.read_s());
        device.push_back(bench.load_s(true));
        host.push_back(bench.load_s(false));
    }
    fs::remove_all(directory);
    const double plain = median(read);
    printf(
        "%zu MiB, %s, medians of %d: read() %.3f s; to a GPU %.3f s: %.2fx; host %.3f s: %.2fx\n",
        mib, bench.cold ? "cold" : "cached", rounds, plain, median(device), median(device) / plain,
        median(host), median(host) / plain);
}
