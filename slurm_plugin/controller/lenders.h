// SPDX-License-Identifier: BSD-3-Clause
// What malleable jobs hold above their MIN, node by node, and how many of them would have to give
// how much of it back for a rigid job there.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

class Lenders {
  public:
    // Of giving GPUs back. A job halves its size, so it may give more than is wanted.
    struct Cost {
        int jobs = 0, gpus = 0;

        auto operator<=>(const Cost &) const = default;
    };

    explicit Lenders(std::size_t nodes) : nodes_(nodes) {}
    void add(const MalleableJob &job);  // one that holds GPUs
    void remove(const MalleableJob &job);
    // Of so many GPUs of the node: by as few jobs as can, and of these with the fewest GPUs.
    [[nodiscard]] Cost cost(int node, int gpus) const;
    void take(int node, int gpus);  // they will be asked: what they give too much costs nothing

  private:
    struct Loan {
        uint32_t job = 0;
        int min = 1, size = 0;  // of the job, on all of its nodes
        int here = 0;           // that it can give back of this node
    };
    struct Node {
        std::vector<Loan> loans;  // the largest first
        int coming = 0;           // GPUs of jobs that have been asked already
    };
    [[nodiscard]] static int size_after(const Loan &loan, int gpus);
    [[nodiscard]] static const Loan *least(const Node &node, int gpus);
    [[nodiscard]] bool is_node(int node) const {
        return node >= 0 && static_cast<std::size_t>(node) < nodes_.size();
    }

    std::vector<Node> nodes_;
};

}  // namespace ringrt::controller
