// SPDX-License-Identifier: BSD-3-Clause
// Measures the processors' limit for an allreduce of two ranks from ringrt_mem_alloc if the buffers
// fit into caches, where the memory traffic bound does not apply. Two threads on one core each do
// the minimum work and meet by spinning on one cache line: each reads half of both buffers and
// writes the reduction into both. Every kind of store is tried, and the fastest is printed. It is
// not a test. Run it in turns with ringbench --buffers shared on an idle machine; its result is the
// limit of MEDIAN_US there.
//
//     direct_limit [KiB...]        (default 1024 4096 16384)
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "libringrt/reduce/reduce.h"

using namespace ringrt;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kRounds = 41;

std::atomic<int> arrived{0};

void meet(int *round) {
    *round += 2;
    arrived.fetch_add(1);
    while (arrived.load() < *round) {
    }
}

// Shared memory has small pages on most systems, so huge ones are tried in private memory.
float *buffer(size_t bytes, bool huge) {
    constexpr size_t kHuge = size_t{2} << 20;
    void *memory = mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE,
                        (huge ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    const auto at = (reinterpret_cast<uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
    if (huge) madvise(reinterpret_cast<void *>(at), bytes, MADV_HUGEPAGE);
    return reinterpret_cast<float *>(at);
}

void rank(int me, float *own, float *other, size_t count, StoreHint mine, StoreHint theirs,
          std::vector<double> *us) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(me, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    const size_t first = me == 0 ? 0 : count / 2;
    const void *sources[2] = {me == 0 ? own + first : other + first,
                              me == 0 ? other + first : own + first};
    void *more[1] = {other + first};
    const Reduction work{.ranks = 2,
                         .sources = sources,
                         .out = own + first,
                         .more_outs = more,
                         .count = count / 2,
                         .store = mine,
                         .more_store = theirs};
    int round = 0;
    for (int i = 0; i < kRounds; ++i) {
        meet(&round);
        const auto begun = Clock::now();
        for (int k = 0; k < 8; ++k) {
            reduce(work);
            meet(&round);
        }
        if (me == 0)
            us->push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count() /
                          8);
    }
}

double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

void measure(size_t bytes, bool huge) {
    float *a = buffer(bytes, huge), *b = buffer(bytes, huge);
    double best_us = 1e30;
    for (StoreHint mine : {StoreHint::Cached, StoreHint::NonTemporal}) {
        for (StoreHint theirs : {StoreHint::Cached, StoreHint::NonTemporal}) {
            std::vector<double> us;
            arrived = 0;
            std::thread second([&] { rank(1, b, a, bytes / 4, mine, theirs, nullptr); });
            rank(0, a, b, bytes / 4, mine, theirs, &us);
            second.join();
            best_us = std::min(best_us, median(us));
        }
    }
    std::printf("%8zu KiB, %s pages: %8.0f us\n", bytes >> 10, huge ? "huge " : "small", best_us);
}

}  // namespace

int main(int argc, char **argv) {
    std::vector<size_t> sizes;
    for (int i = 1; i < argc; ++i) sizes.push_back(strtoull(argv[i], nullptr, 10) << 10);
    if (sizes.empty()) sizes = {1 << 20, 4 << 20, 16 << 20};
    for (size_t bytes : sizes)
        for (bool huge : {false, true}) measure(bytes, huge);
}
