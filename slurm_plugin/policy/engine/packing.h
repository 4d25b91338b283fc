// SPDX-License-Identifier: BSD-3-Clause
// Do these sizes fit on the nodes? A job up to one node's size stands on one node, a larger one on
// whole nodes, which it shares out evenly: six GPUs of nodes of four are three and three. Slurm
// places the jobs in the end; this predicts what it can place.
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// A quick bound that knows no places: for each block size 1, 2, 4, … the jobs of at least that size
// must find blocks enough. Where all sizes and nodes are powers of two and jobs may move this is
// exact (divisible sizes pack without loss). O(log node size) per question.
class BlockBound {
  public:
    explicit BlockBound(const Capacity &capacity);
    // One more job of `add` GPUs. Those of a job `by_parts` may be anywhere.
    [[nodiscard]] bool fits(int add, int instead_of = 0, bool by_parts = false) const;
    void change(int from, int to, bool by_parts = false) {  // 0: none
        count(from, -1, by_parts);
        count(to, 1, by_parts);
    }
    [[nodiscard]] bool has_node_for(int gpus, bool by_parts = false) const {
        return by_parts || gpus > node_ || gpus <= largest_;
    }
    [[nodiscard]] bool is_over() const;  // more was put in than fits
    [[nodiscard]] int free_gpus() const { return static_cast<int>(blocks_[0] - used_[0]); }

  private:
    void count(int gpus, int jobs, bool by_parts) {
        if (by_parts) {
            used_[0] += jobs * gpus;
            return;
        }
        for (int k = 0; k < classes_ && (1 << k) <= gpus; ++k) used_[k] += jobs * blocks(gpus, k);
        if (gpus > node_) used_nodes_ += jobs * ((gpus + node_ - 1) / node_);
    }
    // Blocks of 2^k that `gpus` GPUs take up, where it is at least one: a job of six takes two of
    // four.
    static long blocks(int gpus, int k) { return (gpus + (1L << k) - 1) >> k; }

    static constexpr int kClasses = 17;  // blocks of 2^0 … 2^16 GPUs
    int node_ = 1;                       // GPUs of a whole node
    int largest_ = 0;                    // GPUs of the largest node
    int classes_ = 1;
    std::array<long, kClasses> blocks_{}, used_{};
    long whole_nodes_ = 0, used_nodes_ = 0;  // of jobs larger than a node
};

// Exact on given places: best fit, lowest node index first; a node of fewer than 0 GPUs takes
// nobody. O(1) amortised per small job.
class Packing {
  public:
    explicit Packing(const Capacity &capacity);
    // Of a job that stays; what is not there is ignored.
    void occupy(std::span<const NodeShare> held);
    void release(std::span<const NodeShare> held);  // of a job that leaves
    // Finds a place for one more job; false, and nothing changed, where there is none.
    [[nodiscard]] bool place(int gpus, std::vector<NodeShare> *where = nullptr);
    // On nodes of its own choice, with no more than `per_node` GPUs on each, as many on the one as
    // on the other, and the rest of a node left to others. O(nodes).
    [[nodiscard]] bool place_apart(int gpus, int per_node, std::vector<NodeShare> *where = nullptr);
    // On as few nodes as can be, as many on the one as on the other, no more than `per_node` on
    // each: returns how many nodes, 0 where there is no such place. O(nodes) for each try.
    [[nodiscard]] int place_evenly(int gpus, int per_node, std::vector<NodeShare> *where = nullptr);
    // What a job `by_parts` grows by: one place for each doubling; all of them, or nothing is
    // changed.
    [[nodiscard]] bool place_doublings(int from, int to, std::vector<NodeShare> *where = nullptr);
    // The same as place() with the largest size of the ladder that finds one; 0: none does.
    [[nodiscard]] int place_largest(const Ladder &ladder);
    [[nodiscard]] int free_gpus() const { return free_total_; }

  private:
    void list_nodes();
    void push(int node);
    [[nodiscard]] int most_free() const { return static_cast<int>(top_.size()) - 1; }
    void set_free(int node, int gpus);
    int pop(int free);  // a node with exactly that many free GPUs, -1: none

    int node_ = 1;
    int free_total_ = 0;
    std::vector<bool> closed_;
    std::vector<int> free_;
    // Stacks of nodes, one for each number of free GPUs, as lists through one array; they may hold
    // outdated entries. Filled when a place is first asked for: what is taken before changes
    // nothing there.
    struct Entry {
        int node, below;
    };
    std::vector<Entry> entries_;
    std::vector<int> top_;  // by free GPUs: the topmost entry, -1: none
    bool listed_ = false;
};

// The nodes with nobody on them, to be copied: of many, working them out anew takes as long as a
// decision's first GPUs.
struct EmptyNodes {
    explicit EmptyNodes(const Capacity &capacity) : room(capacity), packing(capacity) {}
    BlockBound room;
    Packing packing;
};

}  // namespace ringrt::policy
