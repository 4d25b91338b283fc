// SPDX-License-Identifier: BSD-3-Clause
// What the processors allow for an allreduce of two ranks from ringrt_alloc, where the buffers fit
// into caches and the floor of memory traffic says nothing: two threads on a core each do the least
// that there is to do, and meet by spinning on one line. Each fold reads half of both buffers and
// writes it into both; the whole cycle is that between writing every element of one's own buffer
// and reading it, less the same without the fold. Every way to store is tried, the fastest is told.
// Not a test. Run it beside ringbench --buffers shared on an idle machine.
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

#include "libringrt/collective/fold.h"

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

struct Times {
    std::vector<double> fold_us, with_us, without_us;
};

void rank(int me, float *own, float *other, size_t count, Store mine, Store theirs, Times *out) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(me, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    const size_t first = me == 0 ? 0 : count / 2;
    const void *sources[2] = {me == 0 ? own + first : other + first,
                              me == 0 ? other + first : own + first};
    void *more[1] = {other + first};
    const Fold work{.ranks = 2,
                    .sources = sources,
                    .out = own + first,
                    .more_outs = more,
                    .count = count / 2,
                    .store = mine,
                    .more_store = theirs};
    int round = 0;
    volatile float seen = 0;
    const auto cycle = [&](bool folds) {
        meet(&round);
        const auto begun = Clock::now();
        for (size_t i = 0; i < count; ++i) own[i] = static_cast<float>(i & 7);
        meet(&round);
        if (folds) fold(work);
        meet(&round);
        float sum[8] = {};
        for (size_t i = 0; i < count; i += 8)
            for (size_t k = 0; k < 8; ++k) sum[k] += own[i + k];
        seen = seen + sum[0] + sum[7];
        meet(&round);
        return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
    };
    for (int i = 0; i < kRounds; ++i) {
        meet(&round);
        const auto begun = Clock::now();
        for (int k = 0; k < 8; ++k) {
            fold(work);
            meet(&round);
        }
        const double us = std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
        const double with = cycle(true), without = cycle(false);
        if (me != 0) continue;
        out->fold_us.push_back(us / 8);
        out->with_us.push_back(with);
        out->without_us.push_back(without);
    }
}

double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

void measure(size_t bytes, bool huge) {
    float *a = buffer(bytes, huge), *b = buffer(bytes, huge);
    double best_fold = 1e30, best_cycle = 1e30;
    for (Store mine : {Store::Plain, Store::Streaming}) {
        for (Store theirs : {Store::Plain, Store::Streaming}) {
            Times times;
            arrived = 0;
            std::thread second([&] { rank(1, b, a, bytes / 4, mine, theirs, nullptr); });
            rank(0, a, b, bytes / 4, mine, theirs, &times);
            second.join();
            best_fold = std::min(best_fold, median(times.fold_us));
            best_cycle = std::min(best_cycle, median(times.with_us) - median(times.without_us));
        }
    }
    std::printf("%8zu KiB, %s pages: fold %8.0f us, whole cycle %8.0f us\n", bytes >> 10,
                huge ? "huge " : "small", best_fold, best_cycle);
}

}  // namespace

int main(int argc, char **argv) {
    std::vector<size_t> sizes;
    for (int i = 1; i < argc; ++i) sizes.push_back(strtoull(argv[i], nullptr, 10) << 10);
    if (sizes.empty()) sizes = {1 << 20, 4 << 20, 16 << 20};
    for (size_t bytes : sizes)
        for (bool huge : {false, true}) measure(bytes, huge);
}
