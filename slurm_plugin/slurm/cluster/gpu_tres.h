// SPDX-License-Identifier: GPL-2.0-or-later
// The GPUs in Slurm's TRES strings: "gres:gpu:4" (22.05, 23.02), "gres/gpu:a100:4" (later), and as
// nodes and allocations show them: "gpu:4(S:0-1)", "gpu:a100:2(IDX:0-1)".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrt::slurm {

struct GpuTres {
    std::string name;  // everything before the count: "gres:gpu", "gres/gpu:a100"
    int count = 0;
};

// nullopt: no GPUs, or more than one GPU item. An item without a plain count means one GPU.
[[nodiscard]] std::optional<GpuTres> parse_gpu_tres(std::string_view text);

// "a100" of "gres/gpu:a100:4"; empty: any type.
[[nodiscard]] std::string gpu_type(std::string_view text);

// The number of GPUs that a job requests, of all types.
[[nodiscard]] int requested_gpus(std::string_view text);

// The types in such a list with their GPUs, each once; empty if an item has no type.
[[nodiscard]] std::vector<std::pair<std::string, int>> gpus_by_type(std::string_view list);

// The first item of gres/shard or gres/mps, by which jobs share GPUs, as "shard:2(IDX:0)"; empty:
// there is none. The text stays part of the list.
[[nodiscard]] std::string_view share_item(std::string_view list);

[[nodiscard]] bool mentions_gpu(std::string_view text);

// For example "gres:gpu:a100:4": the name from `like` (if it has none, this Slurm's spelling), then
// `count`.
[[nodiscard]] std::string format_gpu_tres(std::string_view like, int count);

// The list with its GPUs replaced by `count` GPUs of its own type, or else of the type in `like`.
// The other items stay.
[[nodiscard]] std::string with_gpus(std::string_view list, std::string_view like, int count);

// The list's items that are not GPUs.
[[nodiscard]] std::string without_gpus(std::string_view list);

// The number of GPUs of any type in a comma-separated list, as nodes and allocations show them.
[[nodiscard]] int count_gpus(std::string_view list);

}  // namespace ringrt::slurm
