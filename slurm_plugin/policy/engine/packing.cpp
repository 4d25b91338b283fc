// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/packing.h"

#include <algorithm>

namespace ringrt::policy {

namespace {

int whole_node(const Capacity &capacity) {
    int largest = 1;
    for (const int gpus : capacity.node_gpus) largest = std::max(largest, gpus);
    return capacity.gpus_per_node > 0 ? capacity.gpus_per_node : largest;
}

}  // namespace

BlockBound::BlockBound(const Capacity &capacity) : node_(whole_node(capacity)) {
    while (classes_ < kClasses && size_of(classes_) <= node_) ++classes_;
    for (const int gpus : capacity.node_gpus) {
        largest_ = std::max(largest_, gpus);
        whole_nodes_ += gpus >= node_;
        for (int k = 0; k < classes_; ++k) blocks_[k] += std::max(gpus, 0) / size_of(k);
    }
}

bool BlockBound::fits(int add, int instead_of, bool by_parts) const {
    if (by_parts) return used_[0] - instead_of + add <= blocks_[0];
    if (!has_node_for(add)) return false;
    const long filled = filled_nodes(add);
    if (filled > 0 && used_nodes_ - filled_nodes(instead_of) + filled > whole_nodes_) return false;
    const Shares before = shares_of(instead_of), after = shares_of(add);
    for (int k = 0; k < classes_ && size_of(k) <= after.gpus; ++k)
        if (used_[k] - before.blocks(k) + after.blocks(k) > blocks_[k]) return false;
    return true;
}

bool BlockBound::is_over() const {
    for (int k = 0; k < classes_; ++k)
        if (used_[k] > blocks_[k]) return true;
    return used_nodes_ > whole_nodes_;
}

Packing::Packing(const Capacity &capacity) : node_(whole_node(capacity)) {
    const std::size_t nodes = capacity.node_gpus.size();
    closed_.resize(nodes);
    free_.assign(nodes, -1);
    int largest = node_;
    for (const int gpus : capacity.node_gpus) largest = std::max(largest, gpus);
    top_.assign(static_cast<std::size_t>(largest) + 1, -1);
    for (std::size_t i = 0; i < nodes; ++i) {
        closed_[i] = capacity.node_gpus[i] < 0;
        set_free(static_cast<int>(i), std::max(0, capacity.node_gpus[i]));
    }
}

void Packing::list_nodes() {
    listed_ = true;
    entries_.reserve(2 * free_.size());
    for (std::size_t i = free_.size(); i-- > 0;)  // the lowest index is then found first
        push(static_cast<int>(i));
}

void Packing::push(int node) {
    int &top = top_[free_[node]];
    entries_.push_back({.node = node, .below = top});
    top = static_cast<int>(entries_.size()) - 1;
}

void Packing::set_free(int node, int gpus) {
    free_total_ += gpus - std::max(free_[node], 0);
    free_[node] = gpus;
    if (listed_) push(node);
}

int Packing::pop(int free) {
    for (int &top = top_[free]; top >= 0;) {
        const int node = entries_[top].node;
        top = entries_[top].below;
        if (free_[node] == free) return node;
    }
    return -1;
}

void Packing::occupy(std::span<const NodeShare> held) {
    for (const auto &[node, gpus] : held)
        if (node >= 0 && static_cast<std::size_t>(node) < free_.size())
            set_free(node, std::max(0, free_[node] - gpus));
}

void Packing::release(std::span<const NodeShare> held) {
    for (const auto &[node, gpus] : held)
        if (node >= 0 && static_cast<std::size_t>(node) < free_.size() && !closed_[node])
            set_free(node, std::min(free_[node] + gpus, most_free()));
}

bool Packing::place(int gpus, std::vector<NodeShare> *where) {
    if (!listed_) list_nodes();
    if (gpus <= node_) {
        for (int free = gpus; free <= most_free(); ++free) {
            const int node = pop(free);
            if (node < 0) continue;
            set_free(node, free - gpus);
            if (where) where->push_back({node, gpus});
            return true;
        }
        return false;
    }
    const auto count = static_cast<std::size_t>(model::even_nodes(gpus, node_));
    const int share = gpus / static_cast<int>(count);
    std::vector<NodeShare> found;  // nodes, with the GPUs that are free there
    for (int free = share; free <= node_; ++free) {
        for (int node = 0; found.size() < count && (node = pop(free)) >= 0;) {
            found.emplace_back(node, free);
            free_[node] = -node_ - 1;  // hides a second entry of the same node
        }
    }
    const bool fits = found.size() == count;
    for (auto at = found.rbegin(); at != found.rend(); ++at) free_[at->first] = at->second;
    for (const auto &[node, free] : found) {
        set_free(node, fits ? free - share : free);
        if (fits && where) where->push_back({node, share});
    }
    return fits;
}

bool Packing::place_apart(int gpus, int per_node, std::vector<NodeShare> *where) {
    const auto count = static_cast<std::size_t>(model::even_nodes(gpus, std::max(1, per_node)));
    const int share = gpus / static_cast<int>(count);
    std::vector<int> nodes;
    for (std::size_t i = 0; i < free_.size(); ++i)
        if (!closed_[i] && free_[i] >= share) nodes.push_back(static_cast<int>(i));
    if (nodes.size() < count) return false;
    std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) { return free_[a] < free_[b]; });
    nodes.resize(count);
    for (const int node : nodes) {
        set_free(node, free_[node] - share);
        if (where) where->push_back({node, share});
    }
    return true;
}

int Packing::place_evenly(int gpus, int per_node, std::vector<NodeShare> *where) {
    for (int nodes = 1; nodes <= gpus && nodes <= static_cast<int>(free_.size()); ++nodes) {
        const int share = gpus / nodes;
        if (share * nodes != gpus || share > per_node) continue;
        if (nodes == 1 ? place(gpus, where) : place_apart(gpus, share, where)) return nodes;
    }
    return 0;
}

bool Packing::place_doublings(int from, int to, std::vector<NodeShare> *where) {
    std::vector<NodeShare> taken;
    for (int gpus = from; gpus < to; gpus *= 2) {
        if (gpus > 0 && gpus <= free_total_ && place_evenly(gpus, node_, &taken) > 0) continue;
        release(taken);
        return false;
    }
    if (where) where->insert(where->end(), taken.begin(), taken.end());
    return true;
}

int Packing::place_largest(const Ladder &ladder) {
    for (int size = ladder.floor(ladder.max); size >= ladder.min && size > 0; size /= 2)
        if (place(size)) return size;
    return 0;
}

}  // namespace ringrt::policy
