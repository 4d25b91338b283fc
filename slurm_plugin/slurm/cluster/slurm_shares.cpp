// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/slurm_shares.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "slurm_plugin/slurm/cluster/gpu_tres.h"

namespace ringrt::slurm {

using controller::GpuShare;
using controller::HeldShare;

namespace {

constexpr int kAmountMost = 1'000'000, kGpuMost = 1024;

// The number at the beginning of a text; 0: there is none.
int number_at(std::string_view text) {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return std::clamp(number, 0, kAmountMost);
}

// Of "shard:2(IDX:0)"; an item without a number is one.
GpuShare share_of(std::string_view item) {
    const std::size_t end = item.find_first_of(":=(");
    if (item.empty()) return {};
    const bool has_number = end != std::string_view::npos && item[end] != '(';
    return {.kind = std::string(item.substr(0, end)),
            .amount = has_number ? number_at(item.substr(end + 1)) : 1};
}

// For "1,3-4" and 3 in all: one on each of these GPUs. Slurm does not show which has how many.
void add_indices(std::string_view list, int amount, int node, std::vector<HeldShare> &out) {
    std::vector<int> gpus;
    while (!list.empty()) {
        const std::string_view part = list.substr(0, list.find(','));
        const std::size_t dash = part.find('-');
        const int first = number_at(part);
        const int last = dash == std::string_view::npos ? first : number_at(part.substr(dash + 1));
        for (int gpu = first; gpu <= std::min(last, kGpuMost); ++gpu) gpus.push_back(gpu);
        list.remove_prefix(std::min(part.size() + 1, list.size()));
    }
    const int count = std::max(1, static_cast<int>(gpus.size()));
    for (const int gpu : gpus)
        out.push_back({.node = node, .gpu = gpu, .amount = (amount + count - 1) / count});
}

// For "2/4,0/4": two on the first GPU.
void add_amounts(std::string_view list, int node, std::vector<HeldShare> &out) {
    for (int gpu = 0; !list.empty() && gpu < kGpuMost; ++gpu) {
        const std::string_view part = list.substr(0, list.find(','));
        if (const int amount = number_at(part); amount > 0)
            out.push_back({.node = node, .gpu = gpu, .amount = amount});
        list.remove_prefix(std::min(part.size() + 1, list.size()));
    }
}

}  // namespace

GpuShare gpu_share(std::string_view list) { return share_of(share_item(list)); }

std::vector<GpuShare> shares_of_a_gpu(std::string_view list, int gpus) {
    std::vector<GpuShare> out;
    while (gpus > 0) {
        const std::string_view item = share_item(list);
        if (item.empty()) break;
        out.push_back(share_of(item));
        out.back().amount /= gpus;
        list.remove_prefix(static_cast<std::size_t>(item.data() + item.size() - list.data()));
    }
    return out;
}

std::vector<HeldShare> held_shares(std::string_view list, int node) {
    std::vector<HeldShare> out;
    const std::string_view item = share_item(list);
    // With shards and MPS on one node, 22.05 shows no GPU: "shard(CNT:2)".
    const std::size_t open = item.find('('), close = item.find(')');
    if (open == std::string_view::npos || close < open) return out;
    const std::string_view where = item.substr(open + 1, close - open - 1);
    if (where.starts_with("IDX:"))
        add_indices(where.substr(4), share_of(item).amount, node, out);
    else
        add_amounts(where, node, out);
    return out;
}

}  // namespace ringrt::slurm
