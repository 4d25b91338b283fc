// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of each node come to share a segment.
#pragma once

#include <memory>

#include "libringrt/bootstrap/topology.h"
#include "libringrt/shm/segment.h"

namespace ringrt {

// Collective. Opens the memory that this rank's node shares; null for one rank alone on its node.
// Where some rank of a node cannot map it, that node's ranks become nodes of their own (with a
// warning).
Status open_shm(const RankContext &self, Bootstrap *bootstrap, Topology *topology,
                std::unique_ptr<ShmSegment> *out);

}  // namespace ringrt
