// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over several nodes with several ranks each: shared memory within a node, TCP between
// nodes.
//
// Rank i of every node is on rail i and works on share i of every chunk. A partial sum arrives on
// the rail from the previous node, adds the data of this node's ranks (in rank order, straight from
// their staging), and goes to the next node. The last node finishes the sum, and the result returns
// along the rail; each node stores it where all its ranks can read it. With two nodes a node thus
// sends and receives n bytes each way, the minimum; with more, at most 2n. A ring would need
// 2(N-1)/N·n but could not add in rank order.
//
// Requires nodes of equal size with consecutive ranks (Topology::regular).
#pragma once

#include "libringrt/schedule/executor.h"
#include "libringrt/shm/segment.h"

namespace ringrt {

struct Rail {
    int before = -1, after = -1;  // ranks on the neighbouring nodes; -1: none
};

// `*next_chunk` numbers the node's chunks (shm_collectives.h); it is advanced past this operation.
Status hierarchical_allreduce(const Work &work, const OpHeader &call, const RankContext &self,
                              const Rail &rail, ShmSegment &memory, Transport &transport,
                              uint64_t *next_chunk);

}  // namespace ringrt
