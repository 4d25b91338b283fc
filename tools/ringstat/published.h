// SPDX-License-Identifier: BSD-3-Clause
// The explanations that the controller publishes in a file next to its report
// (malleable_explain.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slurm_plugin/controller/explain.h"
#include "slurm_plugin/controller/options.h"

namespace ringrt::ringstat {

// Older explanations are ignored: the controller writes every few seconds.
inline constexpr double kPublishedStale_s = 60;

struct Published {
    double time_s = 0;  // Unix time of the decision; 0: there is none
    std::string mode;
    std::vector<controller::Explanation> explanations;
};

// None if any part is missing or of the wrong type. Texts are unchanged from the file: make them
// printable().
[[nodiscard]] Published parse_published(std::string_view json);

// None if the file is missing, unreadable, not a plain file, or stale.
[[nodiscard]] Published read_published(const std::string &path, double now_s);

}  // namespace ringrt::ringstat
