// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over several nodes with several ranks each: shared memory within, TCP between.
//
// Rank i of every node is on rail i, and works on share i of every chunk. A partial sum comes up
// its rail from the node before, takes in the data of this node's ranks (in rank order, straight
// from their staging), and goes on to the next node; the last node finishes it and the result
// passes back down the rail, each node leaving it where all its ranks can read it. So a node sends
// and receives n bytes each way at two nodes (as few as anything can), at most 2n at more; a ring
// would take 2(N-1)/N·n, but could not add in rank order.
//
// Needs nodes of equal size whose ranks follow one another (Topology::regular).
#pragma once

#include "libringrt/schedule/executor.h"
#include "libringrt/shm/segment.h"

namespace ringrt {

struct Rail {
    int before = -1, after = -1;  // ranks on the neighbouring nodes; -1: none
};

// `*next_chunk` numbers the node's chunks (shm_collectives.h) and is moved on.
Status hierarchical_allreduce(const Work &work, const OpHeader &call, const RankContext &self,
                              const Rail &rail, ShmSegment &memory, Transport &transport,
                              uint64_t *next_chunk);

}  // namespace ringrt
