// SPDX-License-Identifier: BSD-3-Clause
// Schedules for nodes with several ranks each: shared memory within a node (shared_places.h),
// messages between nodes. PURE. Nodes have equal sizes and consecutive ranks. Rank i of a node is
// on rail i: it exchanges only with rank i of the other nodes, and only the blocks of the ranks on
// its rail. Data therefore leaves a node once, over all its ranks together (n: bytes of the buffer,
// N nodes):
//
// clang-format off
//   all-gather                       (N-1)/N·n bytes leave each node, and as many arrive
//   reduce-scatter, tree order       the same: with 2^k ranks per node, the sum of a node's ranks is a
//                                    branch of the tree, so a node sends its sums to each other node
//   reduce-scatter, rank order       n, plus results of at most n/N: sums can only pass from node to
//                                    node, and the last node sends the results to their owners
//   allreduce, tree order            2(N-1)/N·n: the first two together
//   broadcast                        n along a binomial tree of nodes, on the root's rail
//   barrier                          no data: each node waits for its ranks, then each rail for its
//   largest                          an allreduce of a few bytes whose operation may count a rank
//                                    several times (maximum, minimum, or, and): like a barrier, but
//                                    each message holds what the sender knows of
// clang-format on
//
// With many nodes an exchange is aggregated: each message holds the blocks of many nodes, so that a
// rank has 2·ceil(log2 N) peers instead of N-1.
#pragma once

#include "libringrt/schedule/schedule.h"

namespace ringrt {

struct NodeShape {
    int nodes = 1, local = 1;  // ranks per node
    bool aggregated = false;

    [[nodiscard]] bool has_branches() const { return (local & (local - 1)) == 0; }
};

[[nodiscard]] Schedule all_gather_by_nodes(int rank, NodeShape shape);
[[nodiscard]] Schedule reduce_scatter_by_nodes_in_rank_order(int rank, NodeShape shape);
[[nodiscard]] Schedule broadcast_by_nodes(int rank, NodeShape shape, int root);
[[nodiscard]] Schedule barrier_by_nodes(int rank, NodeShape shape);
// With shape.local 1 every rank is a node, and no shared memory is used.
[[nodiscard]] Schedule largest_by_nodes(int rank, NodeShape shape);
// These require shape.has_branches(), and are not aggregated.
[[nodiscard]] Schedule reduce_scatter_by_nodes_in_tree_order(int rank, NodeShape shape);
[[nodiscard]] Schedule allreduce_by_nodes_in_tree_order(int rank, NodeShape shape);

}  // namespace ringrt
