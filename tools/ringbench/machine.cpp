// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringbench/machine.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "libringrt/reduce/reduce.h"

namespace ringrt::bench {
namespace {

using Clock = std::chrono::steady_clock;

void pin(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

std::vector<int> usable_cpus() {
    cpu_set_t set;
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus;
}

// The best of many hand-overs of one cache line, so that a preempted try does not count.
double handover_ns(int a, int b) {
    constexpr uint32_t kBatch = 200, kBatches = 50;
    alignas(64) std::atomic<uint32_t> ball{0};
    std::thread partner([&] {
        pin(b);
        for (uint32_t i = 0; i < kBatch * kBatches; ++i) {
            while (ball.load(std::memory_order_acquire) != 2 * i + 1) {
            }
            ball.store(2 * i + 2, std::memory_order_release);
        }
    });
    double best = 1e9;
    std::thread self([&] {
        pin(a);
        for (uint32_t batch = 0, i = 0; batch < kBatches; ++batch) {
            auto start = Clock::now();
            for (uint32_t end = i + kBatch; i < end; ++i) {
                ball.store(2 * i + 1, std::memory_order_release);
                while (ball.load(std::memory_order_acquire) != 2 * i + 2) {
                }
            }
            double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
            best = std::min(best, ns / (2.0 * kBatch));
        }
    });
    self.join();
    partner.join();
    return best;
}

// An array of ones, in huge pages if the kernel has them.
std::unique_ptr<float[], void (*)(void *)> ones(size_t bytes) {
    constexpr size_t kHugePage = 2 << 20;
    auto *memory = static_cast<float *>(aligned_alloc(kHugePage, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    std::fill_n(memory, bytes / sizeof(float), 1.0F);
    return {memory, free};
}

// Adds two arrays into the first, the traffic of an allreduce, in `threads` threads at once.
double memory_GBps(const std::vector<int> &cpus, int threads) {
    constexpr size_t kBytes = 64 << 20;
    std::vector<double> best(size_t(threads), 1e9);
    std::vector<std::thread> pool;
    std::atomic<int> ready{0};
    for (int t = 0; t < threads; ++t) {
        pool.emplace_back([&, t] {
            pin(cpus[size_t(t) % cpus.size()]);
            const auto a = ones(kBytes), b = ones(kBytes);
            ++ready;
            while (ready < threads) std::this_thread::yield();
            const void *sources[] = {a.get(), b.get()};
            for (int round = 0; round < 5; ++round) {
                auto start = Clock::now();
                reduce({.sources = sources,
                        .out = a.get(),
                        .count = kBytes / sizeof(float),
                        .store = StoreHint::NonTemporal});
                double s = std::chrono::duration<double>(Clock::now() - start).count();
                best[size_t(t)] = std::min(best[size_t(t)], s);
            }
        });
    }
    for (std::thread &each : pool) each.join();
    double slowest = *std::max_element(best.begin(), best.end());
    return 3.0 * kBytes * threads / slowest / 1e9;  // two read, one written
}

}  // namespace

Machine look_at_machine(int ranks) {
    std::vector<int> cpus = usable_cpus();
    Machine machine{.cores = int(cpus.size())};
    machine.memory_GBps = memory_GBps(cpus, std::min(ranks, machine.cores));
    if (machine.cores < 2) {
        machine.placement = "one core";
        return machine;
    }
    machine.handover_ns = handover_ns(cpus[0], cpus[1]);
    machine.placement = machine.handover_ns < 150   ? "near"
                        : machine.handover_ns < 400 ? "mid"
                                                    : "far";
    return machine;
}

}  // namespace ringrt::bench
