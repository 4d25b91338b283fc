// SPDX-License-Identifier: BSD-3-Clause
// The output for finished runs. Everything except the two timings is the same for the same seed.
#pragma once

#include <span>
#include <string>

#include "sim/engine/engine.h"

namespace ringrt::sim {

struct Summary {
    std::string workload, policy;
    std::string_view knows;  // the information that the policy has: see knows()
    std::size_t jobs = 0;    // finished ones: all figures cover these
    std::size_t unfinished = 0;
    double mean_jct_s = 0, median_jct_s = 0, p99_jct_s = 0;
    double makespan_s = 0;  // from the first arrival to the last finish
    double gpu_hours = 0;
    double utilisation = 0;  // GPUs held / GPUs of the cluster, from first arrival to last finish
    double restarts_per_job = 0;
    double lost_gpu_s = 0;      // held while stopping and restarting
    double worst_fairness = 0;  // finish-time fairness, see JobResult
    double decide_ms_max = 0, wall_s = 0;
    std::size_t graded = 0;  // decisions compared with the exact optimum
    double mean_gap = 0, worst_gap = 0;
};

[[nodiscard]] Summary summarise(const Workload &workload, const RunResult &run,
                                const SimOptions &options);

[[nodiscard]] std::string table(std::span<const Summary> runs);
// One row per job and run.
[[nodiscard]] std::string jobs_csv(const Workload &workload, const RunResult &run);
[[nodiscard]] std::string jobs_csv_header();
// The GPUs of each job over time: one row per GPU of a node, one colour per job.
[[nodiscard]] std::string timeline_svg(const Workload &workload, const RunResult &run,
                                       const SimOptions &options);
struct RunView {
    const Workload *workload = nullptr;
    const RunResult *run = nullptr;
};

struct Verdict;  // verdict.h
// The content of a page or a JSON file.
struct Report {
    SimOptions options;
    std::string command;
    std::vector<Summary> summaries;
    std::vector<RunView> views;
    std::vector<Verdict> verdicts;
    std::vector<std::string> assumptions;
};
[[nodiscard]] std::string json(const Report &report, bool timings);
// One self-contained page.
[[nodiscard]] std::string html(const Report &report);
// Chrome's trace format (chrome://tracing, Perfetto): one track per node.
[[nodiscard]] std::string chrome_trace(const RunView &view);

// Text for HTML and SVG: bounded and escaped.
[[nodiscard]] std::string escaped(std::string_view text);

// Throws InputError if the file cannot be written; "-" is standard output.
void write_file(const std::string &path, const std::string &text);

}  // namespace ringrt::sim
