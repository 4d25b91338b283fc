// SPDX-License-Identifier: BSD-3-Clause
// Whether sizes fit on the nodes. A job up to the size of one node takes one node. A larger job
// takes the fewest nodes on which it spreads evenly: six GPUs on nodes of four are three and three.
// Others may use the rest of these nodes. Slurm makes the final placement; this predicts what it
// can place.
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "model/even_nodes.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// A quick bound without places: for each block size 1 to 8, 10, 12, 14, 16, 20, 24, … the nodes
// must have as many blocks as the jobs take. A node has ⌊its GPUs / size⌋ blocks, and a job takes
// ⌊its GPUs there / size⌋ on each of its nodes. It refuses nothing that could be placed, and is
// exact if all sizes and nodes are powers of two, or all jobs have one of these sizes, and jobs may
// move. O(log node size) per query.
class BlockBound {
  public:
    explicit BlockBound(const Capacity &capacity);
    // One more job of `add` GPUs. The GPUs of a job `by_parts` may be anywhere.
    [[nodiscard]] bool fits(int add, int instead_of = 0, bool by_parts = false) const;
    void change(int from, int to, bool by_parts = false) {  // 0: none
        count(from, -1, by_parts);
        count(to, 1, by_parts);
    }
    [[nodiscard]] bool has_node_for(int gpus, bool by_parts = false) const {
        return by_parts || gpus > node_ || gpus <= largest_;
    }
    [[nodiscard]] bool is_over() const;  // more was added than fits
    [[nodiscard]] int free_gpus() const { return static_cast<int>(blocks_[0] - used_[0]); }

  private:
    void count(int gpus, int jobs, bool by_parts) {
        if (by_parts) {
            used_[0] += jobs * gpus;
            return;
        }
        const Shares shares = shares_of(gpus);
        for (int k = 0; k < classes_ && size_of(k) <= shares.gpus; ++k)
            used_[k] += jobs * shares.blocks(k);
        used_nodes_ += jobs * filled_nodes(gpus);
    }
    // The nodes that a job larger than a node fills, so that they must be empty; 0: on nodes of six
    // GPUs a job of eight leaves two of each.
    [[nodiscard]] long filled_nodes(int gpus) const {
        const long nodes = gpus > node_ ? model::even_nodes(gpus, node_) : 0;
        return nodes * node_ == gpus ? nodes : 0;
    }
    // 1 to 8, and then four sizes up to each power of two: 10, 12, 14, 16, 20, …
    static constexpr int size_of(int k) {
        return k < 8 ? k + 1 : (5 + (k - 8) % 4) << ((k - 8) / 4 + 1);
    }
    struct Shares {  // of one job
        long nodes = 1;
        int gpus = 0;  // on each of them
        [[nodiscard]] long blocks(int k) const { return nodes * (gpus / size_of(k)); }
    };
    [[nodiscard]] Shares shares_of(int gpus) const {
        if (gpus <= node_) return {.gpus = gpus};
        const long nodes = model::even_nodes(gpus, node_);
        return {nodes, static_cast<int>(gpus / nodes)};
    }

    static constexpr int kClasses = 60;  // blocks of 1 … 2^16 GPUs
    int node_ = 1;                       // GPUs of a whole node
    int largest_ = 0;                    // GPUs of the largest node
    int classes_ = 1;
    std::array<long, kClasses> blocks_{}, used_{};
    long whole_nodes_ = 0, used_nodes_ = 0;  // those that jobs fill
};

// Exact places: best fit, lowest node index first. A node with fewer than 0 GPUs accepts no job.
// O(1) amortised per small job.
class Packing {
  public:
    explicit Packing(const Capacity &capacity);
    // For a job that stays. GPUs that are not there are ignored.
    void occupy(std::span<const NodeShare> held);
    void release(std::span<const NodeShare> held);  // for a job that leaves
    // Finds a place for one more job. Returns false and changes nothing if there is none.
    [[nodiscard]] bool place(int gpus, std::vector<NodeShare> *where = nullptr);
    // On any nodes, with the same number of GPUs on each, at most `per_node`. The rest of a node
    // stays available to other jobs. O(nodes).
    [[nodiscard]] bool place_apart(int gpus, int per_node, std::vector<NodeShare> *where = nullptr);
    // On as few nodes as possible, with the same number of GPUs on each, at most `per_node`.
    // Returns the number of nodes, 0 if there is no such place. O(nodes) per attempt.
    [[nodiscard]] int place_evenly(int gpus, int per_node, std::vector<NodeShare> *where = nullptr);
    // The growth of a job `by_parts`: one place for each doubling. Either all are placed, or
    // nothing is changed.
    [[nodiscard]] bool place_doublings(int from, int to, std::vector<NodeShare> *where = nullptr);
    // Like place(), for the largest size of the ladder that finds a place; 0: none does.
    [[nodiscard]] int place_largest(const Ladder &ladder);
    [[nodiscard]] int free_gpus() const { return free_total_; }
    [[nodiscard]] int free_on(std::size_t node) const {  // -1: the node accepts no job
        return closed_[node] ? -1 : free_[node];
    }

  private:
    void list_nodes();
    void push(int node);
    [[nodiscard]] int most_free() const { return static_cast<int>(top_.size()) - 1; }
    void set_free(int node, int gpus);
    int pop(int free);  // a node with exactly this many free GPUs, -1: none

    int node_ = 1;
    int free_total_ = 0;
    std::vector<bool> closed_;
    std::vector<int> free_;
    // Stacks of nodes, one for each number of free GPUs, as linked lists in one array. They may
    // hold outdated entries. They are filled when a place is first requested: earlier changes need
    // not update them.
    struct Entry {
        int node, below;
    };
    std::vector<Entry> entries_;
    std::vector<int> top_;  // by free GPUs: the top entry, -1: none
    bool listed_ = false;
};

// The nodes without jobs, to be copied: computing them for many nodes takes as long as assigning a
// decision's first GPUs.
struct EmptyNodes {
    explicit EmptyNodes(const Capacity &capacity) : room(capacity), packing(capacity) {}
    BlockBound room;
    Packing packing;
};

}  // namespace ringrt::policy
