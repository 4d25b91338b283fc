// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/schedule/by_nodes.h"

#include <algorithm>
#include <bit>

#include "libringrt/schedule/binomial.h"

namespace ringrt {
namespace {

Ref block_of(Place place, int block, int row = 0) {
    return {place, uint16_t(row), uint16_t(block), 1};
}

class ByNodes {
  public:
    ByNodes(const char *name, int rank, NodeShape shape)
        : rank_(rank), shape_(shape), node_(rank / shape.local), index_(rank % shape.local) {
        made = {.name = name, .blocks = shape.nodes * shape.local, .aggregated = shape.aggregated};
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
        // The last node is the root of the results' tree: places count downwards.
        const Binomial tree(shape_.nodes - 1 - node_, shape_.nodes);
        if (!last && shape_.aggregated)
            result = made.expect(peer(shape_.nodes - 1 - tree.parent()), 1,
                                 results_of(shape_.nodes - 1 - node_, tree.end()));
        else if (!last)
            result = made.expect(peer(shape_.nodes - 1), 1, {block_of(Place::Output, rank_)});
        stage();
        if (!first) made.await(sums);
        for (int k = 0; k < shape_.nodes; ++k) {
            const int b = peer(k);
            ReduceStep step{.partial = {},
                            .sources = sources_of(b),
                            .out = block_of(Place::Partial, b, kOutgoing)};
            if (!first) step.partial = block_of(Place::Partial, b, kIncoming);
            if (last)
                step.out =
                    block_of(b == rank_ && !shape_.aggregated ? Place::Output : Place::Row, b);
            made.reduce(std::move(step));
        }
        made.arrive(Gate::Shown);
        if (!last) made.send(peer(node_ + 1), 0, rail(kOutgoing));
        if (last && !shape_.aggregated)
            each_other_node([&](int k) { made.send(peer(k), 1, {block_of(Place::Row, peer(k))}); });
        if (!last) made.await(result);
        if (!shape_.aggregated) return;
        tree.each_child([&](int child, int end) {
            made.send(peer(shape_.nodes - 1 - child), 1, results_of(child, end));
        });
        made.copy(block_of(Place::Row, rank_), block_of(Place::Output, rank_));
    }
    // This rail's results for the nodes at places [place, end) of the tree.
    [[nodiscard]] std::vector<Ref> results_of(int place, int end) const {
        std::vector<Ref> blocks;
        for (; place < end; ++place)
            blocks.push_back(block_of(Place::Row, peer(shape_.nodes - 1 - place)));
        return blocks;
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
    // Like expect_results(), send_result() and await(), from Output, in ceil(log2 N) exchanges.
    void double_results() {
        auto round_from = [&](int node, int count) {
            std::vector<Ref> blocks;
            for (int i = 0; i < count; ++i)
                blocks.push_back(block_of(Place::Output, peer((node + i) % shape_.nodes)));
            return blocks;
        };
        uint32_t slot = 0;
        for (int d = 1; d < shape_.nodes; d *= 2, ++slot) {
            const int count = std::min(d, shape_.nodes - d);
            const uint32_t receive =
                made.expect(peer((node_ + d) % shape_.nodes), slot, round_from(node_ + d, count));
            made.send(peer((node_ - d + shape_.nodes) % shape_.nodes), slot,
                      round_from(node_, count));
            made.await(receive);
        }
    }
    // Along a binomial tree of nodes, on the rail of `root`.
    void broadcast(int root) {
        made.blocks = 1;
        made.arrive(Gate::Staged);
        if (index_ != root % shape_.local) {
            made.arrive(Gate::Shown);
            made.pass(Gate::Staged);
            made.pass(Gate::Shown);
            return made.copy(block_of(Place::Results, 0), block_of(Place::Output, 0));
        }
        const int first = root / shape_.local, nodes = shape_.nodes;
        const Binomial tree((node_ - first + nodes) % nodes, nodes);
        auto relay = [&](int place) { return peer((place + first) % nodes); };
        const Ref result = block_of(Place::Output, 0);
        if (tree.is_root())
            made.copy(block_of(Place::Input, 0), result);
        else
            made.await(made.expect(relay(tree.parent()), 0, {result}));
        tree.each_child([&](int child, int) { made.send(relay(child), 0, {result}); });
        made.pass(Gate::Staged);
        made.copy(result, block_of(Place::Results, 0));
        made.arrive(Gate::Shown);
    }
    // Once a node's ranks are all here, each of its rails tells the other nodes.
    void meet() {
        made.blocks = 1;
        made.arrive(Gate::Staged);
        made.pass(Gate::Staged);
        uint32_t slot = 0;
        for (int d = 1; d < shape_.nodes; d *= 2, ++slot) {
            const uint32_t receive =
                made.expect(peer((node_ - d + shape_.nodes) % shape_.nodes), slot, {});
            made.send(peer((node_ + d) % shape_.nodes), slot, {});
            made.await(receive);
        }
        made.arrive(Gate::Shown);
    }
    // Reduces the whole input of all ranks to Output, in any order. Each rail has the result.
    void reduce_all() {
        made.blocks = 1;
        const Ref mine = block_of(Place::Input, 0), of_node = block_of(Place::Partial, 0);
        if (shape_.local == 1) return reduce_over_nodes(mine);
        made.copy(mine, block_of(Place::Stage, 0, index_));
        made.arrive(Gate::Staged);
        made.pass(Gate::Staged);
        made.partials = 1;
        made.reduce({.partial = {}, .sources = sources_of(0), .out = of_node});
        made.arrive(Gate::Shown);
        reduce_over_nodes(of_node);
    }
    void reduce_over_nodes(Ref known) {
        shape_.aggregated ? disseminate(known) : reduce_with_each_node(known);
    }
    // A place for what another node knows as `known`.
    [[nodiscard]] Ref place_like(const Ref &known) {
        const bool raw = known.place == Place::Input;
        return block_of(raw ? Place::Row : Place::Partial, 0, raw ? made.rows++ : made.partials++);
    }
    void reduce_to(Ref out, const std::vector<Ref> &sources) {
        if (out.place == Place::Output) made.flush();
        made.reduce({.partial = {}, .sources = sources, .out = out});
    }
    void reduce_with_each_node(Ref known) {
        std::vector<Ref> all{known};
        std::vector<uint32_t> arrive;
        each_other_node([&](int k) {
            all.push_back(place_like(known));
            arrive.push_back(made.expect(peer(k), 0, {all.back()}));
            made.send(peer(k), 0, {known});
        });
        await(arrive);
        reduce_to(block_of(Place::Output, 0), all);
    }
    // After distances 1, 2 ... d a node knows of the 2·d nodes up to itself.
    void disseminate(Ref known) {
        uint32_t slot = 0;
        for (int d = 1; d < shape_.nodes; d *= 2, ++slot) {
            const Ref arrives = place_like(known);
            const uint32_t receive =
                made.expect(peer((node_ - d + shape_.nodes) % shape_.nodes), slot, {arrives});
            made.send(peer((node_ + d) % shape_.nodes), slot, {known});
            made.await(receive);
            const bool last = 2 * d >= shape_.nodes;
            const Ref next =
                last ? block_of(Place::Output, 0) : block_of(Place::Partial, 0, made.partials++);
            reduce_to(next, {known, arrives});
            known = next;
        }
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
    if (shape.aggregated) {
        all.made.copy(block_of(Place::Input, rank), block_of(Place::Output, rank));
        all.made.arrive(Gate::Staged);
        all.double_results();
    } else {
        const auto results = all.expect_results(0);
        all.send_result(0, Place::Input);
        all.made.copy(block_of(Place::Input, rank), block_of(Place::Output, rank));
        all.made.arrive(Gate::Staged);
        all.await(results);
    }
    all.made.pass(Gate::Staged);
    all.show_and_take();
    return std::move(all.made);
}

Schedule reduce_scatter_by_nodes_in_rank_order(int rank, NodeShape shape) {
    ByNodes sums("reduce-scatter-by-nodes", rank, shape);
    sums.reduce_in_rank_order();
    return std::move(sums.made);
}

Schedule broadcast_by_nodes(int rank, NodeShape shape, int root) {
    ByNodes all("broadcast-by-nodes", rank, shape);
    all.broadcast(root);
    return std::move(all.made);
}

Schedule barrier_by_nodes(int rank, NodeShape shape) {
    ByNodes all("barrier-by-nodes", rank, shape);
    all.meet();
    return std::move(all.made);
}

Schedule largest_by_nodes(int rank, NodeShape shape) {
    ByNodes all("largest", rank, shape);
    all.reduce_all();
    return std::move(all.made);
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
