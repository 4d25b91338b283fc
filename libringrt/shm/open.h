// SPDX-License-Identifier: BSD-3-Clause
// Sets up the segment that the ranks of a node share.
#pragma once

#include <memory>

#include "libringrt/bootstrap/topology.h"
#include "libringrt/shm/segment.h"

namespace ringrt {

// Collective. Opens the memory that this rank's node shares; null for a rank alone on its node. If
// a rank of a node cannot map it, each of that node's ranks becomes its own node (with a warning).
Status open_shm(const RankContext &self, Bootstrap *bootstrap, Topology *topology,
                std::unique_ptr<ShmSegment> *out);

}  // namespace ringrt
