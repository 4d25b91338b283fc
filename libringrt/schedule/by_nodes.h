// SPDX-License-Identifier: BSD-3-Clause
// Schedules for nodes with several ranks each: shared memory within (shared_places.h), messages
// between. PURE. Nodes are of equal size, and their ranks follow one another. Rank i of a node is
// on rail i: it exchanges with rank i of the other nodes only, and what it exchanges are the blocks
// of the ranks on its rail. So what leaves a node leaves it once, over all its ranks together (n:
// the buffer, N nodes):
//
// clang-format off
//   all-gather                       (N-1)/N·n bytes leave each node, and as many come
//   reduce-scatter, tree order       the same: the sum of a node's ranks is a branch of the tree where
//                                    they are 2^k, so a node sends each other one its sums
//   reduce-scatter, rank order       n and results of n/N at most: sums can only pass from node to
//                                    node, the last one sends the results to where they belong
//   allreduce, tree order            2(N-1)/N·n, both of the first
// clang-format on
#pragma once

#include "libringrt/schedule/schedule.h"

namespace ringrt {

struct NodeShape {
    int nodes = 1, local = 1;  // ranks per node

    [[nodiscard]] bool has_branches() const { return (local & (local - 1)) == 0; }
};

[[nodiscard]] Schedule all_gather_by_nodes(int rank, NodeShape shape);
[[nodiscard]] Schedule reduce_scatter_by_nodes_in_rank_order(int rank, NodeShape shape);
// These need shape.has_branches().
[[nodiscard]] Schedule reduce_scatter_by_nodes_in_tree_order(int rank, NodeShape shape);
[[nodiscard]] Schedule allreduce_by_nodes_in_tree_order(int rank, NodeShape shape);

}  // namespace ringrt
