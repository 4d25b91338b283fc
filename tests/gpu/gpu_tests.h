// SPDX-License-Identifier: BSD-3-Clause
// What the tests on a real GPU share. They print TAP and exit with 77 if there is no GPU. Ranks are
// forked before any CUDA call, because CUDA does not survive a fork.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "libringrt/ringrt.h"
#include "tests/support/ranks.h"

namespace ringrt::test {

enum Code { kGood = 0, kNoGpu = 77 };

inline int gpus() {
    int number = 0;
    return cudaGetDeviceCount(&number) == cudaSuccess ? number : 0;
}

// A rank's numbers: the same in every process.
inline std::vector<float> data_of(int rank, size_t count) {
    std::mt19937 random{unsigned(rank)};
    std::uniform_real_distribution<float> each(-1, 1);
    std::vector<float> data(count);
    for (float &x : data) x = each(random);
    return data;
}

#define EXPECT(condition)                                                             \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, __LINE__, #condition, \
                    ringrt_last_error(rt));                                           \
            return 1;                                                                 \
        }                                                                             \
    } while (0)

inline ringrt_config_t config_of(const TemporaryDirectory &directory, const std::string &meet,
                                 int rank, int size) {
    ringrt_config_t config = ringrt_config_init();
    config.rank = rank, config.size = size;
    config.checkpoint_dir = directory.path.c_str(), config.rendezvous = meet.c_str();
    config.timeout_ms = 60000;
    return config;
}

// NCCL rejects two ranks on one GPU unless it takes them for ranks of different hosts; it then uses
// sockets.
inline void let_nccl_share(int rank) {
    setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_IB_DISABLE", "1", 1);
}

// Counts tests and prints TAP.
class Tap {
  public:
    explicit Tap(int tests) {
        setvbuf(stdout, nullptr, _IOLBF, 0);
        printf("1..%d\n", tests);
    }
    // `except`: a rank whose end is not looked at.
    void report(const char *name, const std::vector<int> &codes, int except = -1) {
        bool good = true, skip = false;
        for (size_t r = 0; r < codes.size(); ++r) {
            if (int(r) == except) continue;
            good = good && (codes[r] == kGood || codes[r] == kNoGpu);
            skip = skip || codes[r] == kNoGpu;
            if (codes[r] != kGood && codes[r] != kNoGpu)
                printf("# rank %zu: status %d\n", r, codes[r]);
        }
        failed_ += !good, skipped_ += skip;
        printf("%s %d - %s%s\n", good ? "ok" : "not ok", ++tests_, name,
               skip ? " # SKIP not so many GPUs here" : "");
    }
    [[nodiscard]] int status() const {
        if (failed_ > 0) return 1;
        return skipped_ == tests_ ? kNoGpu : 0;
    }

  private:
    int tests_ = 0, failed_ = 0, skipped_ = 0;
};

}  // namespace ringrt::test
