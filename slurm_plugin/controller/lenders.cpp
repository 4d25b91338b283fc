// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/lenders.h"

#include <algorithm>

namespace ringrt::controller {

// A job keeps its GPUs on the first of its nodes.
void Lenders::add(const MalleableJob &job, bool may_pause) {
    const bool is_leaving = job.intent.state == records::IntentState::asked &&
                            job.intent.target < job.record->gpus_requested;
    const int size = is_leaving ? job.intent.target : job.record->gpus_requested;
    const int least = std::max(1, job.intent.gpus_min);
    int kept = size, min = job.intent.gpus_min;
    for (const auto &[index, held] : job.record->gpus_on_node) {
        const int stays = std::min(held, kept), of_min = std::min(stays, min);
        kept -= stays;
        min -= of_min;
        if (!is_node(index)) continue;
        Node &node = nodes_[static_cast<std::size_t>(index)];
        node.coming += held - stays;
        insert(node.lent,
               {.job = job.record->id, .min = least, .size = size, .here = stays - of_min});
        if (may_pause)
            insert(node.min, {.job = job.record->id, .min = 0, .size = least, .here = of_min});
    }
}

void Lenders::insert(Loans &loans, const Loan &loan) {
    if (loan.here > 0)
        loans.insert(std::ranges::upper_bound(loans, loan.here, std::greater<>(), &Loan::here),
                     loan);
}

void Lenders::remove(const MalleableJob &job) {
    for (const auto &[index, held] : job.record->gpus_on_node) {
        if (!is_node(index)) continue;
        Node &node = nodes_[static_cast<std::size_t>(index)];
        for (Loans *loans : {&node.lent, &node.min})
            std::erase_if(*loans, [&](const Loan &loan) { return loan.job == job.record->id; });
    }
}

// A MIN is returned as a whole.
int Lenders::size_after(const Loan &loan, int gpus) {
    if (loan.min == 0) return gpus > 0 ? 0 : loan.size;
    int size = loan.size;
    while (loan.size - size < gpus && size / 2 >= loan.min) size /= 2;
    return size;
}

// The one job that suffices alone and gives the fewest GPUs; nullptr: no job suffices.
const Lenders::Loan *Lenders::least(const Loans &loans, int gpus) {
    const Loan *out = nullptr;
    for (const Loan &loan : loans) {
        if (loan.here < gpus) break;
        if (out == nullptr ||
            loan.size - size_after(loan, gpus) < out->size - size_after(*out, gpus))
            out = &loan;
    }
    return out;
}

// Of as many of these GPUs as the loans hold; the others are left in `gpus`.
Lenders::Cost Lenders::cost_of(const Loans &loans, int &gpus) {
    Cost out;
    const auto add = [&](const Loan &loan, int given) {
        out.pauses += loan.min == 0;
        ++out.jobs;
        out.gpus += loan.size - size_after(loan, given);
        gpus -= given;
    };
    if (gpus <= 0) return out;
    if (const Loan *loan = least(loans, gpus)) {
        add(*loan, gpus);
        return out;
    }
    for (const Loan &loan : loans) {
        if (gpus <= 0) break;
        add(loan, std::min(loan.here, gpus));
    }
    return out;
}

Lenders::Cost Lenders::cost(int index, int gpus) const {
    if (!is_node(index)) return {};
    const Node &node = nodes_[static_cast<std::size_t>(index)];
    gpus -= node.coming;
    Cost out = cost_of(node.lent, gpus);
    out += cost_of(node.min, gpus);
    return out;
}

void Lenders::take_from(Loans &loans, int gpus, int &coming) {
    while (gpus > coming && !loans.empty()) {
        const Loan *one = least(loans, gpus - coming);
        Loan loan = one != nullptr ? *one : loans.front();
        std::erase_if(loans, [&](const Loan &other) { return other.job == loan.job; });
        const int size = size_after(loan, std::min(loan.here, gpus - coming));
        const int given = std::min(loan.here, loan.size - size);
        coming += given;
        loan.here -= given;
        loan.size = size;
        if (given > 0) insert(loans, loan);
    }
}

void Lenders::take(int index, int gpus) {
    if (!is_node(index)) return;
    Node &node = nodes_[static_cast<std::size_t>(index)];
    take_from(node.lent, gpus, node.coming);
    take_from(node.min, gpus, node.coming);
    node.coming = std::max(0, node.coming - gpus);
}

}  // namespace ringrt::controller
