// SPDX-License-Identifier: GPL-2.0-or-later
// The GPUs in Slurm's TRES texts: "gres:gpu:4" (22.05, 23.02), "gres/gpu:a100:4" (later), and what
// a node or an allocation shows: "gpu:4(S:0-1)", "gpu:a100:2(IDX:0-1)".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::slurm {

struct GpuTres {
    std::string name;  // all before the count: "gres:gpu", "gres/gpu:a100"
    int count = 0;
};

// nullopt: no GPUs in it, more than one kind of GPU, or a count that is no plain number.
[[nodiscard]] std::optional<GpuTres> parse_gpu_tres(std::string_view text);

// "a100" of "gres/gpu:a100:4"; empty: any kind.
[[nodiscard]] std::string gpu_kind(std::string_view text);

// The kinds in such a list, each once; empty where one has no kind.
[[nodiscard]] std::vector<std::string> gpu_kinds(std::string_view list);

[[nodiscard]] bool mentions_gpu(std::string_view text);

// "gres:gpu:a100:4" from the name of `like` (where it has one, else this Slurm's spelling) and
// `count`.
[[nodiscard]] std::string format_gpu_tres(std::string_view like, int count);

// The list with `count` GPUs of the kind that it names, or of `like`, in place of its own; the
// other items stay.
[[nodiscard]] std::string with_gpus(std::string_view list, std::string_view like, int count);

// The list's items that are no GPUs.
[[nodiscard]] std::string without_gpus(std::string_view list);

// All GPUs in a comma-separated list as nodes and allocations show them, of whatever kind.
[[nodiscard]] int count_gpus(std::string_view list);

}  // namespace ringrt::slurm
