// SPDX-License-Identifier: BSD-3-Clause
// What every policy is: a deterministic function from a snapshot of jobs and free capacity to a
// number of GPUs for each job. No clock, thread, file or Slurm here: time is passed in.
//
// The plugin, the simulator and the tests link the same objects.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/speed.h"

namespace ringrt::policy {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline constexpr int kAnySize = std::numeric_limits<int>::max();

// One malleable job as a policy sees it. Its sizes are gpus_min·2^k <= gpus_max (the ladder).
struct Job {
    uint32_t id = 0;
    int gpus_min = 1;
    int gpus_max = 1;
    int gpus_now = 0;                // 0: waits
    bool pinned = false;             // keep gpus_now: a resize is under way or cannot be asked now
    std::vector<std::pair<int, int>> held;  // (index into Capacity::node_gpus, GPUs); empty: not known
    double submit_s = 0;             // arrival, for the order in which first GPUs are given
    double priority = 0;             // Slurm's; higher comes first, before arrival
    double steps_left = kUnknown;    // Q; unknown: see Options::steps_assumed
    double steps_done = 0;
    double attained_gpu_s = 0;       // GPU-seconds received so far
    double restart_s = 10;           // cost of one stop and restart
    model::SpeedModel speed;

    // What the simulator, the baselines and the models learned online need besides.
    int gpus_asked = 0;              // the size its user asked for, for rigid policies; 0: gpus_max
    int gpus_believed = kAnySize;    // do not grow beyond: its speed there is a mere guess
    double time_left_s = kUnknown;   // of its time limit, which backfill plans with
    double weight = 1;               // of one second of this job (QOS)
    std::span<const float> curve_ms; // step time on 1..size() GPUs, not owned; empty: `speed` holds
};

// Milliseconds of one step on `gpus` GPUs: of the curve where there is one, of the model elsewhere.
[[nodiscard]] inline double step_ms(const Job &job, int gpus) {
    if (gpus >= 1 && static_cast<std::size_t>(gpus) <= job.curve_ms.size())
        return job.curve_ms[static_cast<std::size_t>(gpus) - 1];
    return job.speed.step_ms(gpus);
}

// Why a job got its size; ringstat prints the code, `ringstat explain` the sentence.
enum class Reason : uint8_t {
    none,
    at_max,          // has MAX
    best_gain,       // doubled: the best saving per GPU
    no_gain,         // the next doubling would not make it faster
    no_capacity,     // the next doubling does not fit
    restart_cost,    // the next doubling does not pay back the stop and restart
    gave_to_other,   // shrunk: another malleable job saves more with these GPUs
    gave_to_rigid,   // shrunk: a rigid job waits for them
    keeps_for_rigid, // not grown: a rigid job waits for these GPUs
    waits,           // no GPUs for even MIN
    pinned,          // left alone in this decision
};

struct Allotment {
    uint32_t job_id = 0;
    int gpus = 0;
    Reason reason = Reason::none;
    double gain_s_per_gpu = 0;   // of the last doubling that was granted or refused
    int next_gpus = 0;           // the doubling that was refused (0: none): what would change the size
};

// GPUs per node that malleable jobs may hold: all of a node's usable GPUs, less those of rigid jobs
// that run there and of those that wait and come first. Jobs up to one node's size stay on one node;
// larger ones take whole nodes.
struct Capacity {
    std::vector<int> node_gpus;
    int gpus_per_node = 0;  // of a whole node; 0: the largest of node_gpus
    int kept_for_rigid = 0; // GPUs already taken out for rigid jobs that wait (for the reasons only)
};

// How the next doubling of a job is valued; a policy's registry entry sets it.
enum class GainRule : uint8_t {
    absolute,     // arXiv 1908.08082: seconds saved per GPU added
    relative,     // of the job's own time on one GPU: needs no steps left, long jobs do not hoard
    short_first,  // between the two: the job that is done soonest comes first, long ones follow closely
    hull,         // absolute, over the best of all larger sizes: escapes a first doubling that loses
};

struct Options {
    GainRule gain = GainRule::absolute;
    double payback = 1.0;          // a growth must save more seconds than payback x the restart's
    double power = 0.9;            // of a job's own time, in short_first (gain.h)
    double size_lasts_s = 800;     // until others come or go: so often a restart is paid (gain.h)
    double steps_assumed = 1000;   // steps left unknown: as many as were done, but at least so many
};

// The allotments in the order of `jobs`. Independent of that order, and never outside
// gpus_min..gpus_max or off the ladder, except that pinned jobs and those that now run off their
// ladder keep gpus_now. A running job never gets fewer than gpus_min; a waiting one gets gpus_min or
// more, or 0.
using Decide = std::vector<Allotment> (*)(std::span<const Job> jobs, const Capacity &capacity,
                                          const Options &options);

// A policy by its name in malleable.yaml and on ringsim's command line: one row in registry.cpp.
struct Policy {
    std::string_view name;
    Decide decide = nullptr;
    GainRule gain = GainRule::absolute;
    std::string_view help;         // one line
};

[[nodiscard]] std::span<const Policy> policies();
[[nodiscard]] const Policy *find_policy(std::string_view name);  // nullptr: no such policy

[[nodiscard]] std::string_view to_string(Reason reason);         // the code: "best_gain"

}  // namespace ringrt::policy
