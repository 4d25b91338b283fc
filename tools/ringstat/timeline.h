// SPDX-License-Identifier: BSD-3-Clause
// Each job's GPUs over time, from the event log. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/ringstat/history.h"

namespace ringrt::ringstat {

struct Phase {
    double start_s = 0, end_s = 0;  // Unix times
    int gpus = 0;                   // 0: pending
    std::string reason;             // the policy's code for this size
};

struct JobLane {
    uint32_t id = 0, user_id = 0;
    std::string task;  // "100_3" for an array task; else empty
    std::string name;  // untrusted; empty: not in the log
    std::vector<Phase> phases;
    int resizes = 0;
    std::string end;  // "has ended", "was cancelled", …; empty: not known to have ended
};

struct Timeline {
    double start_s = 0, end_s = 0;
    std::vector<JobLane> lanes;  // of the jobs that existed in this time, by their first event
};

// From `start_s` to `end_s`: a job that has not ended lasts until then.
[[nodiscard]] Timeline make_timeline(std::span<const PastEvent> events, double start_s,
                                     double end_s);

// Removes the time before the first phase of any lane.
void start_at_first(Timeline &timeline);

// GPUs that the lane's job holds at a time; 0: pending; -1: it does not exist.
[[nodiscard]] int gpus_at(const JobLane &lane, double time_s);

// The different sizes that occur, smallest first.
[[nodiscard]] std::vector<int> sizes_of(const Timeline &timeline);

}  // namespace ringrt::ringstat
