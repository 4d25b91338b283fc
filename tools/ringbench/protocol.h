// SPDX-License-Identifier: BSD-3-Clause
// The protocol between ringbench and its workers. Each implementation runs as a group of worker
// processes, one per rank, that block in a read between rounds. So the rounds of all
// implementations interleave in one run, and an idle implementation takes no resources from a busy
// one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrt::bench {

struct Hello {
    uint32_t implementation;  // index given by RINGBENCH_INDEX
    uint32_t rank;
};

enum class Task : uint32_t {
    Measure,  // `iterations` allreduces back to back
    Cycle,    // each: write every element, allreduce, read every element
    Compute,  // as Cycle, without the allreduce
    Verify,   // one allreduce, with every element compared
    Quit
};

struct Command {
    Task task;
    uint32_t shared;  // buffers: 0 private, 1 visible to the node's other ranks
    uint64_t bytes;   // of one rank's fp32 buffer
    uint32_t iterations;
    uint32_t ranks;
};

struct Result {
    double seconds;   // of all iterations at this rank
    uint64_t wrong;   // elements, for Verify
    uint32_t failed;  // the allreduce returned an error
};

}  // namespace ringrt::bench
