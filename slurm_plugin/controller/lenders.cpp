// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/lenders.h"

#include <algorithm>

namespace ringrt::controller {

// A job keeps its GPUs on the first of its nodes.
void Lenders::add(const MalleableJob &job) {
    const bool is_leaving = job.intent.state == records::IntentState::asked &&
                            job.intent.target < job.record->gpus_requested;
    const int size = is_leaving ? job.intent.target : job.record->gpus_requested;
    int kept = size, min = job.intent.gpus_min;
    for (const auto &[index, held] : job.record->gpus_on_node) {
        const int stays = std::min(held, kept), of_min = std::min(held, min);
        kept -= stays;
        min -= of_min;
        if (!is_node(index)) continue;
        Node &node = nodes_[static_cast<std::size_t>(index)];
        node.coming += held - stays;
        const Loan loan{.job = job.record->id,
                        .min = std::max(1, job.intent.gpus_min),
                        .size = size,
                        .here = stays - of_min};
        if (loan.here > 0)
            node.loans.insert(
                std::ranges::upper_bound(node.loans, loan.here, std::greater<>(), &Loan::here),
                loan);
    }
}

void Lenders::remove(const MalleableJob &job) {
    for (const auto &[index, held] : job.record->gpus_on_node)
        if (is_node(index))
            std::erase_if(nodes_[static_cast<std::size_t>(index)].loans,
                          [&](const Loan &loan) { return loan.job == job.record->id; });
}

int Lenders::size_after(const Loan &loan, int gpus) {
    int size = loan.size;
    while (loan.size - size < gpus && size / 2 >= loan.min) size /= 2;
    return size;
}

// The one job that suffices alone and gives the fewest GPUs; nullptr: no job suffices.
const Lenders::Loan *Lenders::least(const Node &node, int gpus) {
    const Loan *out = nullptr;
    for (const Loan &loan : node.loans) {
        if (loan.here < gpus) break;
        if (out == nullptr ||
            loan.size - size_after(loan, gpus) < out->size - size_after(*out, gpus))
            out = &loan;
    }
    return out;
}

Lenders::Cost Lenders::cost(int index, int gpus) const {
    if (!is_node(index)) return {};
    const Node &node = nodes_[static_cast<std::size_t>(index)];
    gpus -= node.coming;
    if (gpus <= 0) return {};
    if (const Loan *loan = least(node, gpus)) return {1, loan->size - size_after(*loan, gpus)};
    Cost out;
    for (const Loan &loan : node.loans) {
        if (gpus <= 0) break;
        const int given = std::min(loan.here, gpus);
        ++out.jobs;
        out.gpus += loan.size - size_after(loan, given);
        gpus -= given;
    }
    return out;
}

void Lenders::take(int index, int gpus) {
    if (!is_node(index)) return;
    Node &node = nodes_[static_cast<std::size_t>(index)];
    while (gpus > node.coming && !node.loans.empty()) {
        const Loan *one = least(node, gpus - node.coming);
        Loan loan = one != nullptr ? *one : node.loans.front();
        std::erase_if(node.loans, [&](const Loan &other) { return other.job == loan.job; });
        const int size = size_after(loan, std::min(loan.here, gpus - node.coming));
        const int given = std::min(loan.here, loan.size - size);
        node.coming += given;
        loan.here -= given;
        loan.size = size;
        if (given > 0 && loan.here > 0)
            node.loans.insert(
                std::ranges::upper_bound(node.loans, loan.here, std::greater<>(), &Loan::here),
                loan);
    }
    node.coming = std::max(0, node.coming - gpus);
}

}  // namespace ringrt::controller
