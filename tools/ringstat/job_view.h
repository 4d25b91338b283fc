// SPDX-License-Identifier: BSD-3-Clause
// Slurm's data of one job, and ringstat's view of a malleable one. Independent of Slurm: the
// records come from slurm_plugin/slurm/cluster/job_listing.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/cluster/job_listing.h"
#include "tools/ringstat/job_name.h"

namespace ringrt::ringstat {

// One malleable job. Texts are unchanged from Slurm and untrusted: escape them before printing.
struct JobView {
    uint32_t id = 0;
    std::string task;  // of an array; else empty (job_name.h)
    std::string name, user, partition, nodes;
    std::string slurm_state;        // "RUNNING"
    std::string slurm_state_short;  // "R"
    std::string state;              // new, waits, paused, steady, asked, leaving, ending, ended
    std::string reason;             // of its size, or why it is pending: "BestGain", "Resources"
    int gpus = 0;                   // GPUs held; 0: pending
    int gpus_min = 0, gpus_max = 0;
    int target = 0;  // requested or set, but not running yet; 0: none
    int resizes = 0, restarts = 0;
    double gap_s = 0;   // last resize, from the signal until it ran again; 0: none yet
    double time_s = 0;  // duration of the present run
    std::optional<double> paused_since_s;  // Unix time; nullopt: it is not paused
    // Reported by the job itself; nullopt: not reported (yet).
    std::optional<uint64_t> step, checkpoint_step;
    std::optional<int64_t> steps_left;
    std::optional<double> step_ms, samples_per_s;
    std::optional<uint64_t> samples;

    // Seconds of training left at the present size, if the job has reported enough.
    [[nodiscard]] std::optional<double> left_s() const;
};

struct Filter {
    std::vector<WantedJob> jobs;      // empty: all
    std::vector<std::string> users;   // names or numbers
    std::vector<std::string> states;  // Slurm's, long or short, any case; "all"; empty: not ended
    std::vector<std::string> partitions;
};

// The malleable jobs among `listed` that pass the filter, in the order of their names.
[[nodiscard]] std::vector<JobView> view_jobs(std::span<const slurm::ListedJob> listed,
                                             const Filter &filter, double now_s);

}  // namespace ringrt::ringstat
