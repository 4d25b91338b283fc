// SPDX-License-Identifier: BSD-3-Clause
// What malleable jobs hold above their MIN on each node, and how many of them would have to return
// how many GPUs for a rigid job there.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

class Lenders {
  public:
    // Cost of returning GPUs. A job halves its size, so it may return more than is needed.
    struct Cost {
        int jobs = 0, gpus = 0;

        auto operator<=>(const Cost &) const = default;
    };

    explicit Lenders(std::size_t nodes) : nodes_(nodes) {}
    void add(const MalleableJob &job);  // a job that holds GPUs
    void remove(const MalleableJob &job);
    // Cost of this many GPUs of the node: with the fewest jobs, and among these the fewest GPUs.
    [[nodiscard]] Cost cost(int node, int gpus) const;
    void take(int node, int gpus);  // they will be asked: their surplus GPUs then cost nothing

  private:
    struct Loan {
        uint32_t job = 0;
        int min = 1, size = 0;  // of the job, on all its nodes
        int here = 0;           // GPUs of this node that it can return
    };
    struct Node {
        std::vector<Loan> loans;  // the largest first
        int coming = 0;           // GPUs of jobs already asked
    };
    [[nodiscard]] static int size_after(const Loan &loan, int gpus);
    [[nodiscard]] static const Loan *least(const Node &node, int gpus);
    [[nodiscard]] bool is_node(int node) const {
        return node >= 0 && static_cast<std::size_t>(node) < nodes_.size();
    }

    std::vector<Node> nodes_;
};

}  // namespace ringrt::controller
