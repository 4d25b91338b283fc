// SPDX-License-Identifier: GPL-2.0-or-later
// The report for `ringstat diag`: one JSON object in a file next to the event log. It is written
// periodically, so if the thread hangs, the file's time shows since when.
#pragma once

#include <string>
#include <vector>

#include "slurm_plugin/controller/controller.h"
#include "slurm_plugin/slurm/cluster/api_times.h"

namespace ringrt::slurm {

struct PassTimes {
    uint64_t passes = 0;
    double last_ms = 0, total_ms = 0, worst_ms = 0;

    void add(double took_ms);
};

struct Diag {
    double time_s = 0, started_s = 0;  // Unix times: of this report, of the controller's start
    PassTimes passes;
    // Why the newest malleable.yaml was refused, and since when; empty: it is in force.
    std::string refusal;
    double refused_since_s = 0;
    const controller::Options *options = nullptr;
    const controller::Statistics *statistics = nullptr;
    const ApiTimes *api = nullptr;
};

[[nodiscard]] std::string to_json(const Diag &diag);  // one line, with the newline

// {"time":1763721600.250,"mode":"act","jobs":[{"job":12,"gpus":2,"wanted":8,"reason":"best_gain",
// "text":"…"}]}: one line, with the newline. time: of the pass that made the decisions.
[[nodiscard]] std::string to_json(const std::vector<controller::Explanation> &explanations,
                                  const controller::Options &options, double time_s);

// Writes the whole file and renames it into place. On false, errno has the reason.
[[nodiscard]] bool write_diag(const std::string &path, const std::string &json);

}  // namespace ringrt::slurm
