// SPDX-License-Identifier: BSD-3-Clause
// Output functions shared by all commands of ringstat.
#pragma once

#include <cstdio>
#include <string>

#include "slurm_plugin/records/unix_time.h"

namespace ringrt::ringstat {

inline void put(const std::string &text) { std::fwrite(text.data(), 1, text.size(), stdout); }

inline int fail(int status, const std::string &what) {
    std::fflush(stdout);
    std::fprintf(stderr, "ringstat: %s\n", what.c_str());
    return status;
}

}  // namespace ringrt::ringstat
