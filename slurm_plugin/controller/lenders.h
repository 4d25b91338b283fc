// SPDX-License-Identifier: BSD-3-Clause
// What malleable jobs hold above their MIN on each node, and the MIN of those that may be paused;
// and how many of them would have to return how many GPUs for a rigid job there.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

class Lenders {
  public:
    // Cost of returning GPUs. A job halves its size, so it may return more than is needed. Jobs are
    // paused only if what all of them hold above MIN does not suffice.
    struct Cost {
        int pauses = 0, jobs = 0, gpus = 0;

        Cost &operator+=(const Cost &other) {
            pauses += other.pauses;
            jobs += other.jobs;
            gpus += other.gpus;
            return *this;
        }

        auto operator<=>(const Cost &) const = default;
    };

    explicit Lenders(std::size_t nodes) : nodes_(nodes) {}
    void add(const MalleableJob &job, bool may_pause);  // a job that holds GPUs
    void remove(const MalleableJob &job);
    // Cost of this many GPUs of the node: with the fewest pauses, then the fewest jobs, and among
    // these the fewest GPUs.
    [[nodiscard]] Cost cost(int node, int gpus) const;
    void take(int node, int gpus);  // they will be asked: their surplus GPUs then cost nothing

  private:
    struct Loan {
        uint32_t job = 0;
        int min = 1, size = 0;  // of the job, on all its nodes
        int here = 0;           // GPUs of this node that it can return
    };
    using Loans = std::vector<Loan>;  // the largest first
    struct Node {
        Loans lent, min;  // above MIN, and MIN of jobs that may be paused: a pause returns it
        int coming = 0;   // GPUs of jobs already asked
    };
    static void insert(Loans &loans, const Loan &loan);
    [[nodiscard]] static int size_after(const Loan &loan, int gpus);
    [[nodiscard]] static const Loan *least(const Loans &loans, int gpus);
    [[nodiscard]] static Cost cost_of(const Loans &loans, int &gpus);
    static void take_from(Loans &loans, int gpus, int &coming);
    [[nodiscard]] bool is_node(int node) const {
        return node >= 0 && static_cast<std::size_t>(node) < nodes_.size();
    }

    std::vector<Node> nodes_;
};

}  // namespace ringrt::controller
