// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/schedule/by_nodes.h"

#include <bit>

namespace ringrt {
namespace {

Ref block_of(Place place, int block, int row = 0) {
    return {place, uint16_t(row), uint16_t(block), 1};
}

class ByNodes {
  public:
    ByNodes(const char *name, int rank, NodeShape shape)
        : rank_(rank), shape_(shape), node_(rank / shape.local), index_(rank % shape.local) {
        made = {.name = name, .blocks = shape.nodes * shape.local};
    }

    // ---- all kinds ------------------------------------------------------------------------------

    // The rank of node k on the same rail; its block has the same number.
    [[nodiscard]] int peer(int k) const { return k * shape_.local + index_; }
    // Calls use(node) for the other nodes, starting with the next one.
    template <class Use>
    void each_other_node(Use use) const {
        for (int d = 1; d < shape_.nodes; ++d) use((node_ + d) % shape_.nodes);
    }
    // Copies all blocks but this rail's, in runs, from one place to another.
    void copy_other_rails(Place from, Place to) {
        const int row = to == Place::Stage ? index_ : 0;
        auto run = [&](int first, int count) {
            if (count <= 0) return;
            made.copy({from, 0, uint16_t(first), uint16_t(count)},
                      {to, uint16_t(row), uint16_t(first), uint16_t(count)});
        };
        int first = 0;
        for (int k = 0; k < shape_.nodes; ++k) {
            run(first, peer(k) - first);
            first = peer(k) + 1;
        }
        run(first, made.blocks - first);
    }
    void await(const std::vector<uint32_t> &receives) {
        for (uint32_t each : receives) made.await(each);
    }

    // ---- reductions -----------------------------------------------------------------------------

    void stage() {
        copy_other_rails(Place::Input, Place::Stage);
        made.arrive(Gate::Staged);
        made.pass(Gate::Staged);
    }
    // Block b of each rank of this node.
    [[nodiscard]] std::vector<Ref> sources_of(int b) const {
        std::vector<Ref> sources;
        for (int j = 0; j < shape_.local; ++j)
            sources.push_back(j == index_ ? block_of(Place::Input, b)
                                          : block_of(Place::Stage, b, j));
        return sources;
    }
    // Reduces this rank's block over all nodes to Output, with one partial per node.
    void reduce_in_tree_order() {
        made.partials = shape_.nodes;
        std::vector<uint32_t> sums;
        each_other_node([&](int k) {
            sums.push_back(made.expect(peer(k), 0, {block_of(Place::Partial, rank_, k)}));
        });
        stage();
        for (int k = 0; k < shape_.nodes; ++k)
            made.reduce({.partial = {},
                         .sources = sources_of(peer(k)),
                         .out = block_of(Place::Partial, peer(k), node_),
                         .of_all = true});
        if (!keeps_stages_) made.arrive(Gate::Shown);
        each_other_node(
            [&](int k) { made.send(peer(k), 0, {block_of(Place::Partial, peer(k), node_)}); });
        await(sums);
        add_branch(0, shape_.nodes);
    }
    // Adds the partials of nodes [first, last).
    void add_branch(int first, int last) {
        if (last - first == 1) return;
        const int middle = first + int(std::bit_floor(unsigned(last - first - 1)));
        add_branch(first, middle);
        add_branch(middle, last);
        const bool all = last - first == shape_.nodes;
        made.reduce(
            {.partial = {},
             .sources = {block_of(Place::Partial, rank_, first),
                         block_of(Place::Partial, rank_, middle)},
             .out = all ? block_of(Place::Output, rank_) : block_of(Place::Partial, rank_, first)});
    }
    // Partial sums pass from node to node; the last node has the results.
    void reduce_in_rank_order() {
        constexpr int kIncoming = 0, kOutgoing = 1;
        made.partials = 2, made.rows = 1;
        const bool first = node_ == 0, last = node_ + 1 == shape_.nodes;
        auto rail = [&](int row) {
            std::vector<Ref> blocks;
            for (int k = 0; k < shape_.nodes; ++k)
                blocks.push_back(block_of(Place::Partial, peer(k), row));
            return blocks;
        };
        uint32_t sums = 0, result = 0;
        if (!first) sums = made.expect(peer(node_ - 1), 0, rail(kIncoming));
        if (!last)
            result = made.expect(peer(shape_.nodes - 1), 1, {block_of(Place::Output, rank_)});
        stage();
        if (!first) made.await(sums);
        for (int k = 0; k < shape_.nodes; ++k) {
            const int b = peer(k);
            ReduceStep step{.partial = {},
                            .sources = sources_of(b),
                            .out = block_of(Place::Partial, b, kOutgoing)};
            if (!first) step.partial = block_of(Place::Partial, b, kIncoming);
            if (last) step.out = block_of(b == rank_ ? Place::Output : Place::Row, b);
            made.reduce(std::move(step));
        }
        made.arrive(Gate::Shown);
        if (!last) made.send(peer(node_ + 1), 0, rail(kOutgoing));
        if (last)
            each_other_node([&](int k) { made.send(peer(k), 1, {block_of(Place::Row, peer(k))}); });
        if (!last) made.await(result);
    }

    // ---- results --------------------------------------------------------------------------------

    // From place `own` of each rank of the rail to Output of all.
    [[nodiscard]] std::vector<uint32_t> expect_results(uint32_t slot) {
        std::vector<uint32_t> results;
        each_other_node([&](int k) {
            results.push_back(made.expect(peer(k), slot, {block_of(Place::Output, peer(k))}));
        });
        return results;
    }
    void send_result(uint32_t slot, Place own) {
        each_other_node([&](int k) { made.send(peer(k), slot, {block_of(own, rank_)}); });
    }
    // Shows this rail's results to the node's other ranks, and copies theirs to Output.
    void show_and_take() {
        for (int k = 0; k < shape_.nodes; ++k)
            made.copy(block_of(Place::Output, peer(k)), block_of(Place::Results, peer(k)));
        made.arrive(Gate::Shown);
        made.pass(Gate::Shown);
        copy_other_rails(Place::Results, Place::Output);
    }
    void keep_stages() { keeps_stages_ = true; }

    Schedule made;

  private:
    int rank_;
    NodeShape shape_;
    int node_, index_;
    bool keeps_stages_ = false;  // until the results are shown
};

}  // namespace

Schedule all_gather_by_nodes(int rank, NodeShape shape) {
    ByNodes all("all-gather-by-nodes", rank, shape);
    const auto results = all.expect_results(0);
    all.send_result(0, Place::Input);
    all.made.copy(block_of(Place::Input, rank), block_of(Place::Output, rank));
    all.made.arrive(Gate::Staged);
    all.await(results);
    all.made.pass(Gate::Staged);
    all.show_and_take();
    return std::move(all.made);
}

Schedule reduce_scatter_by_nodes_in_rank_order(int rank, NodeShape shape) {
    ByNodes sums("reduce-scatter-by-nodes", rank, shape);
    sums.reduce_in_rank_order();
    return std::move(sums.made);
}

Schedule reduce_scatter_by_nodes_in_tree_order(int rank, NodeShape shape) {
    ByNodes sums("reduce-scatter-by-nodes", rank, shape);
    sums.reduce_in_tree_order();
    return std::move(sums.made);
}

Schedule allreduce_by_nodes_in_tree_order(int rank, NodeShape shape) {
    ByNodes all("allreduce-by-nodes", rank, shape);
    const auto results = all.expect_results(1);
    all.keep_stages();
    all.reduce_in_tree_order();
    all.send_result(1, Place::Output);
    all.await(results);
    all.show_and_take();
    return std::move(all.made);
}

}  // namespace ringrt
