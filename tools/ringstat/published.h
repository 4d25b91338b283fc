// SPDX-License-Identifier: BSD-3-Clause
// The explanations that the controller leaves in a file beside its account
// (malleable_explain.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slurm_plugin/controller/explain.h"
#include "slurm_plugin/controller/options.h"

namespace ringrt::ringstat {

// Older ones are nobody's: the controller writes every few seconds.
inline constexpr double kPublishedStale_s = 60;

struct Published {
    double time_s = 0;  // Unix time of the decision; 0: there is none
    std::string mode;
    std::vector<controller::Explanation> explanations;
};

// What is not whole is none. Texts come as they are in the file: make them printable().
[[nodiscard]] Published parse_published(std::string_view json);

// None where the file is missing, unreadable, no plain file, or stale.
[[nodiscard]] Published read_published(const std::string &path, double now_s);

}  // namespace ringrt::ringstat
