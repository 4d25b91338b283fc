// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/time_limit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ringrt::controller {

using records::Intent;

namespace {

constexpr int64_t kLimitUnit_s = 60;           // Slurm's time limits are whole minutes
constexpr int64_t kLimitMost_s = 900'000'000;  // a longer limit, over 28 years, counts as none

int64_t in_minutes(int64_t seconds) {
    return std::max(kLimitUnit_s, seconds / kLimitUnit_s * kLimitUnit_s);
}

// Notes the limit when the job is first seen. If an administrator sets another one later, that one
// counts from then on.
void note_time_limit(const JobRecord &record, Intent &intent) {
    if (!record.time_limit_s || *record.time_limit_s > kLimitMost_s)
        intent.limit_s = -1;
    else if (intent.limit_s <= 0 ||
             *record.time_limit_s != in_minutes(intent.limit_s - intent.used_s))
        intent.limit_s = intent.used_s + *record.time_limit_s;
}

}  // namespace

void note_times(const JobRecord &record, Intent &intent) {
    note_time_limit(record, intent);
    intent.start_s = std::llround(record.start_s + record.suspended_s);
}

// A limit that Slurm itself chose counts as in the last run: a requeue removes it, and the pending
// job shows another.
std::optional<int64_t> carry_time_limit(const JobRecord &record, bool is_resizing, double stopped_s,
                                        Intent &intent) {
    if (!intent.limit_by_slurm) note_time_limit(record, intent);
    const bool has_run = intent.start_s > 0 || intent.run != record.restarts;
    if (!is_resizing && has_run) {
        intent.used_s = intent.start_s = 0;
        if (intent.limit_by_slurm) intent.limit_s = 0;  // Slurm chooses again
    }
    if (intent.start_s > 0) {
        if (record.end_s >= static_cast<double>(intent.start_s)) stopped_s = record.end_s;
        intent.used_s += std::max<int64_t>(0, std::llround(stopped_s) - intent.start_s);
        intent.start_s = 0;
    }
    if (intent.limit_s <= 0) return std::nullopt;
    const int64_t left_s = in_minutes(intent.limit_s - intent.used_s);
    const bool by_slurm = std::exchange(intent.limit_by_slurm, false);  // ours from now on
    if (left_s == record.time_limit_s && !by_slurm) return std::nullopt;
    return left_s;
}

}  // namespace ringrt::controller
