// SPDX-License-Identifier: BSD-3-Clause
// Runs one rank alone, or one of several, through the C API.
#pragma once

#include "libringrt/ringrt.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

namespace ringrt::test {

struct Alone {
    explicit Alone(ringrt_config_t config = RINGRT_CONFIG_INIT) {
        for (const char *name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) unsetenv(name);
        config.checkpoint_dir = directory.path.c_str();
        ck_assert_msg(ringrt_init(&rt, &config) == RINGRT_OK, "%s", ringrt_last_error(nullptr));
    }
    ~Alone() { ringrt_finalize(rt); }
    TemporaryDirectory directory;
    ringrt_t *rt = nullptr;
};

inline ringrt_config_t config_of(int rank, int size, const TemporaryDirectory &directory) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank;
    config.size = size;
    config.checkpoint_dir = directory.path.c_str();
    return config;
}

inline void expect(const ringrt_t *rt, ringrt_status_t got, ringrt_status_t expected,
                   const char *line) {
    ck_assert_msg(got == expected, "%s: %s", ringrt_status_string(got), ringrt_last_error(rt));
    EXPECT_TEXT(ringrt_last_error(rt), line);
}

}  // namespace ringrt::test
