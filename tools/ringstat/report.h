// SPDX-License-Identifier: BSD-3-Clause
// ringstat's --json output. Always valid JSON: bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <span>
#include <string>

#include "tools/ringstat/history.h"
#include "tools/ringstat/job_view.h"
#include "tools/ringstat/plugin_view.h"
#include "tools/ringstat/summary.h"

namespace ringrt::ringstat {

// {"time": Unix seconds, "gpus": {"total": 16, …}, "jobs": [{"id": 7, "gpus": 4, …}]}; unknown
// values are null.
[[nodiscard]] std::string jobs_json(std::span<const JobView> jobs,
                                    const std::optional<Summary> &summary, double now_s);

// {"events": [{"time": …, "job": 7, "event": "resized", …}]}
[[nodiscard]] std::string history_json(std::span<const PastEvent> events);

// {"job": 7, "gpus": 4, "wanted": 8, "reason": "BestGain", "text": …, "mode": "act"}
[[nodiscard]] std::string explanation_json(const controller::Explanation &explanation,
                                           const Explanations &told, double now_s);
// For a job that has ended or is ending: how, and what it was.
[[nodiscard]] std::string ended_text(const JobView &job, double end_s);
[[nodiscard]] std::string ended_json(const JobView &job);
[[nodiscard]] std::string explanation_text(const std::string &name,
                                           const controller::Explanation &explanation,
                                           const Explanations &told, double now_s);

}  // namespace ringrt::ringstat
