// SPDX-License-Identifier: BSD-3-Clause
// The current malleable jobs: the table, and `ringstat top`.
#pragma once

#include <optional>

#include "tools/ringstat/options.h"
#include "tools/ringstat/summary.h"

namespace ringrt::ringstat {

// If a user, state or partition does not exist: prints one line and returns the exit status.
// nullopt: all exist.
[[nodiscard]] std::optional<int> check_filter(const Filter &filter);

struct JobList {
    std::vector<JobView> jobs;
    std::optional<Summary> summary;  // nullopt: Slurm does not report its nodes
    std::string error;               // empty, or one line: why there are no jobs
};

// For a job in state steady, REASON is that of a decision made now, as in `ringstat explain`.
[[nodiscard]] JobList ask_jobs(const Options &options);

[[nodiscard]] int list(const Options &options);
[[nodiscard]] int top(const Options &options);

}  // namespace ringrt::ringstat
