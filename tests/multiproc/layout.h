// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one machine distributed over mock nodes, so that both transports are used.
#pragma once

#include <cstdlib>
#include <string>

#include "libringrt/collective/communicator.h"
#include "tests/support/ranks.h"

namespace ringrt::test {

struct Layout {
    int ranks = 2;
    int nodes = 1;  // ranks are distributed in blocks over this many nodes
};

inline CommunicatorConfig config_of(const TemporaryDirectory &directory, Layout layout, int rank) {
    std::string node = std::to_string(rank * layout.nodes / layout.ranks);
    setenv("RINGRT_NODE", node.c_str(), 1);
    CommunicatorConfig config;
    config.rank = rank, config.size = layout.ranks;
    config.rendezvous = directory.path + "/meet";
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    config.timeout_ms = 100000, config.start_timeout_ms = 100000;  // like kTimeoutScale in check.h
#else
    config.timeout_ms = 20000, config.start_timeout_ms = 20000;
#endif
    return config;
}

}  // namespace ringrt::test
