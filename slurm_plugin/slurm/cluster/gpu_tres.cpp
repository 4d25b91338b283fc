// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/gpu_tres.h"

#include <algorithm>
#include <charconv>

#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr int kCountMax = 1'000'000;  // per item: keeps the sum over a text far from overflow

std::string_view without_prefix(std::string_view item) {
    if (item.starts_with("gres:") || item.starts_with("gres/")) item.remove_prefix(5);
    return item;
}

bool is_gpu(std::string_view item) {
    item = without_prefix(item);
    return item == "gpu" || item.starts_with("gpu:") || item.starts_with("gpu=");
}

// The number after the last ':' or '='; nullopt: there is none ("gpu:a100" means one GPU).
std::optional<int> count_of(std::string_view item, std::size_t &name_length) {
    const std::size_t separator = item.find_last_of(":=");
    name_length = item.size();
    if (separator == std::string_view::npos) return std::nullopt;
    const std::string_view digits = item.substr(separator + 1);
    int count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc{} || end != digits.data() + digits.size() || count < 0)
        return std::nullopt;
    name_length = separator;
    return std::min(count, kCountMax);
}

// Commas separate the items of a list, except inside brackets: "gpu:2(IDX:0,2),nic:1".
template <typename Visit>
void for_each_item(std::string_view list, Visit visit) {
    list = list.substr(0, kTextBytesMax);
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
        if (i < list.size() && list[i] == '(') ++depth;
        if (i < list.size() && list[i] == ')') --depth;
        if (i == list.size() || (list[i] == ',' && depth == 0)) {
            visit(list.substr(start, i - start));
            start = i + 1;
        }
    }
}

}  // namespace

bool mentions_gpu(std::string_view text) {
    bool found = false;
    for_each_item(text, [&](std::string_view item) { found |= is_gpu(item); });
    return found;
}

std::string_view share_item(std::string_view list) {
    std::string_view found;
    for_each_item(list, [&](std::string_view item) {
        item = without_prefix(item);
        const std::string_view name = item.substr(0, item.find_first_of(":=("));
        if (found.empty() && (name == "shard" || name == "mps")) found = item;
    });
    return found;
}

std::optional<GpuTres> parse_gpu_tres(std::string_view text) {
    std::optional<GpuTres> found;
    bool several = false;
    for_each_item(text, [&](std::string_view item) {
        if (!is_gpu(item)) return;
        several |= found.has_value();
        std::size_t name_length = 0;
        const std::optional<int> count = count_of(item, name_length);
        found =
            GpuTres{.name = std::string(item.substr(0, name_length)), .count = count.value_or(1)};
    });
    if (several) return std::nullopt;
    return found;
}

namespace {

// Of an item without its count: "gres/gpu:a100".
std::string kind_in(std::string_view name) {
    name = without_prefix(name);
    return name.size() > 4 && name[3] == ':' ? std::string(name.substr(4)) : std::string();
}

}  // namespace

std::string gpu_type(std::string_view text) {
    const std::optional<GpuTres> gpus = parse_gpu_tres(text);
    return gpus ? kind_in(gpus->name) : std::string();
}

std::vector<std::pair<std::string, int>> gpus_by_type(std::string_view list) {
    std::vector<std::pair<std::string, int>> out;
    bool untyped = false;
    for_each_item(list, [&](std::string_view item) {
        if (!is_gpu(item)) return;
        item = item.substr(0, item.find('('));
        std::size_t name_length = 0;
        const int count = count_of(item, name_length).value_or(1);
        std::string type = kind_in(item.substr(0, name_length));
        untyped |= type.empty();
        const auto same = std::ranges::find(out, type, &std::pair<std::string, int>::first);
        if (same == out.end())
            out.emplace_back(std::move(type), count);
        else
            same->second += count;
    });
    if (untyped) out.clear();
    return out;
}

int requested_gpus(std::string_view text) {
    if (const std::optional<GpuTres> one = parse_gpu_tres(text)) return one->count;
    int total = 0;
    for (const auto &[type, count] : gpus_by_type(text))
        total += std::min(count, kCountMax - total);
    return total;
}

std::string format_gpu_tres(std::string_view like, int count) {
    const std::optional<GpuTres> given = parse_gpu_tres(like);
    return (given ? given->name : std::string(kGpuTres)) + ":" + std::to_string(count);
}

std::string without_gpus(std::string_view list) {
    std::string others;
    for_each_item(list, [&](std::string_view item) {
        if (item.empty() || is_gpu(item)) return;
        if (!others.empty()) others += ',';
        others += item;
    });
    return others;
}

std::string with_gpus(std::string_view list, std::string_view like, int count) {
    const std::string others = without_gpus(list);
    return format_gpu_tres(mentions_gpu(list) ? list : like, count) +
           (others.empty() ? "" : "," + others);
}

int count_gpus(std::string_view list) {
    int total = 0;
    for_each_item(list, [&](std::string_view item) {
        if (!is_gpu(item)) return;
        std::size_t name_length = 0;
        total += count_of(item.substr(0, item.find('(')), name_length).value_or(0);
    });
    return total;
}

}  // namespace ringrt::slurm
