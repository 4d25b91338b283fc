// SPDX-License-Identifier: BSD-3-Clause
// The malleable jobs now: the table, and `ringstat top`.
#pragma once

#include <optional>

#include "tools/ringstat/options.h"
#include "tools/ringstat/summary.h"

namespace ringrt::ringstat {

// A user, state or partition that does not exist: one line, and the exit status. nullopt: all do.
[[nodiscard]] std::optional<int> check_filter(const Filter &filter);

struct JobList {
    std::vector<JobView> jobs;
    std::optional<Summary> summary;  // nullopt: Slurm does not tell of its nodes
    std::string error;               // empty, or one line: why there are no jobs
};

// REASON is that of the decision as it would be taken now, where a job waits for GPUs: what
// `ringstat explain` says.
[[nodiscard]] JobList ask_jobs(const Options &options);

[[nodiscard]] int list(const Options &options);
[[nodiscard]] int top(const Options &options);

}  // namespace ringrt::ringstat
