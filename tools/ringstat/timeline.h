// SPDX-License-Identifier: BSD-3-Clause
// Each job's GPUs over time, as the event log tells. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/ringstat/history.h"

namespace ringrt::ringstat {

struct Phase {
    double start_s = 0, end_s = 0;  // Unix times
    int gpus = 0;                   // 0: it waits
    std::string reason;             // the policy's code for this size
};

struct JobLane {
    uint32_t id = 0, user_id = 0;
    std::string task;  // "100_3" of an array's task; else empty
    std::string name;  // hostile; empty: the log does not tell
    std::vector<Phase> phases;
    int resizes = 0;
    std::string end;  // "has ended", "was cancelled", …; empty: as far as is known it goes on
};

struct Timeline {
    double start_s = 0, end_s = 0;
    std::vector<JobLane> lanes;  // of the jobs that were there in this time, by their first event
};

// From `start_s` to `end_s`: a job that has not ended goes on until then.
[[nodiscard]] Timeline make_timeline(std::span<const PastEvent> events, double start_s,
                                     double end_s);

// Cuts what comes before the first phase of a lane.
void start_at_first(Timeline &timeline);

// GPUs that the lane's job holds at a moment; 0: it waits; -1: it is not there.
[[nodiscard]] int gpus_at(const JobLane &lane, double time_s);

// The different sizes that occur, smallest first.
[[nodiscard]] std::vector<int> sizes_of(const Timeline &timeline);

}  // namespace ringrt::ringstat
