// SPDX-License-Identifier: BSD-3-Clause
// Ranks that train: what each of them checks and returns as its exit status.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "libringrt/collective/communicator.h"
#include "tests/multiproc/layout.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

namespace ringrt::test {

enum Exit { kAsExpected = 0, kNotStarted = 2, kWrongSum = 3, kWrongStatus = 4, kWrongLine = 5 };

inline int explain(int code, const Communicator &comm, const char *what) {
    fprintf(stderr, "rank %d: %s: \"%s\"\n", comm.rank(), what, comm.last_error().c_str());
    return code;
}

// Repeats an allreduce until one fails. Every one that succeeds must be correct.
inline ringrt_status_t train(Communicator &comm, size_t count, int steps, bool *sums_right) {
    std::vector<float> data(count);
    *sums_right = true;
    for (int step = 0; step < steps; ++step) {
        std::fill(data.begin(), data.end(), float(comm.rank() + step));
        ringrt_status_t status =
            comm.allreduce(data.data(), data.data(), count, RINGRT_FLOAT32, RINGRT_SUM);
        if (status != RINGRT_OK) return status;
        float right = float(comm.size() * (comm.size() - 1) / 2 + comm.size() * step);
        *sums_right = *sums_right &&
                      std::all_of(data.begin(), data.end(), [&](float x) { return x == right; });
    }
    return RINGRT_OK;
}

inline void expect_all(Ranks &ranks, Layout layout, int except, double within_s) {
    std::vector<int> ended = ranks.wait(within_s * kTimeoutScale, except);
    for (int r = 0; r < layout.ranks; ++r) {
        if (r == except) continue;
        ck_assert_msg(ended[size_t(r)] == kAsExpected,
                      "%d ranks on %d nodes: rank %d ended with %d", layout.ranks, layout.nodes, r,
                      ended[size_t(r)]);
    }
}

inline void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

}  // namespace ringrt::test
