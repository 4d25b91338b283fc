// SPDX-License-Identifier: BSD-3-Clause
// The summary line below the table, and the picture of `ringstat top`. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/ringstat/chart.h"
#include "tools/ringstat/job_view.h"

namespace ringrt::ringstat {

struct Summary {
    int gpus_total = 0, gpus_away = 0;  // of all nodes; of those that are down or drained
    int gpus_in_use = 0;                // by all jobs
    int gpus_borrowed = 0;              // by malleable jobs, above their MIN
    int running = 0, waiting = 0;       // malleable jobs
};

// gpus: of the cluster's nodes, in total and away.
[[nodiscard]] Summary summarize(std::span<const slurm::ListedJob> listed, int gpus_total,
                                int gpus_away);

// "14 of 16 GPUs in use, 2 free, 9 borrowed; malleable jobs: 3 run, 1 waits"
[[nodiscard]] std::string summary_text(const Summary &summary);

// A frame of at most `lines` lines: the summary, then one bar per job, the largest first.
[[nodiscard]] std::vector<std::string> top_lines(std::span<const JobView> jobs,
                                                 const Summary &summary, const Screen &screen,
                                                 std::size_t lines);

}  // namespace ringrt::ringstat
