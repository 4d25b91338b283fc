// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace ringrt::bench {

// Returns the exit status of the rank's process, which must not return to ringbench's code.
int run_ringrt_rank(int rank, int ranks, const std::string &directory);

}  // namespace ringrt::bench
