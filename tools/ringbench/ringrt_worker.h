// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace ringrt::bench {

// Never returns to what ringbench does: the exit status of the rank's process.
int run_ringrt_rank(int rank, int ranks, const std::string &folder);

}  // namespace ringrt::bench
