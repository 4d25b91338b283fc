// SPDX-License-Identifier: BSD-3-Clause
// Compares two runs of the same jobs: which jobs end sooner, which later, by how much, and on which
// assumptions.
#pragma once

#include <string>
#include <vector>

#include "tools/ringsim/commands.h"
#include "tools/ringsim/report.h"

namespace ringrt::sim {

inline constexpr double kLaterBy = 1.05;  // a job is later if its completion takes over 5 % longer

// A group of jobs with a common property.
struct Group {
    std::string name;
    std::size_t jobs = 0, later = 0;
    double mean_before_s = 0, mean_after_s = 0;  // completion times
    double wait_before_s = 0, wait_after_s = 0;  // means, from submission to the first start
    double worst = 0;                            // completion time after / before
    double gpu_hours = 0;                        // before

    [[nodiscard]] double change() const {
        return mean_before_s > 0 ? mean_after_s / mean_before_s - 1 : 0;
    }
};

struct Verdict {
    std::string workload, before, after;  // policies
    Group all;
    std::string worst_job;
    double p99_ratio = 0;      // of the completion times after / before
    std::vector<Group> sizes;  // by GPUs requested, ascending
    std::vector<Group> users;  // the largest by GPU hours, descending; empty: not in the trace
};

// Over the jobs that finished in both runs.
[[nodiscard]] Verdict verdict(const Workload &workload, const RunResult &before,
                              const RunResult &after);

// "plugin against fifo: mean -44 %; 38 of 1590 jobs later, worst 2.7x (job 100805); ..."
[[nodiscard]] std::string one_line(const Verdict &verdict);
// By size and by user, with those that lose.
[[nodiscard]] std::string details(const Verdict &verdict);

// The assumptions behind the figures, one line each.
[[nodiscard]] std::vector<std::string> assumptions(const CompareArguments &a,
                                                   const std::vector<Workload> &workloads);

}  // namespace ringrt::sim
