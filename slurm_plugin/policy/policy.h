// SPDX-License-Identifier: BSD-3-Clause
// What every policy is: a deterministic function from a snapshot of jobs and free capacity to a
// number of GPUs for each job. No clock, thread, file or Slurm here: time is passed in.
//
// The plugin, the simulator and the tests link the same objects. How to add a policy:
// doc/policies.md.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/ladder.h"
#include "model/speed.h"
#include "slurm_plugin/policy/reason.h"

namespace ringrt::policy {

using model::Ladder;

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline constexpr int kAnySize = std::numeric_limits<int>::max();

using NodeShare = std::pair<int, int>;  // (index into Capacity::node_gpus, GPUs)

// One malleable job as a policy sees it.
struct Job {
    uint32_t id = 0;
    int gpus_min = 1;
    int gpus_max = 1;
    int gpus_now = 0;              // 0: waits
    bool pinned = false;           // keep gpus_now: a resize is under way or cannot be asked now
    std::vector<NodeShare> held;   // where it runs; empty: not known
    double submit_s = 0;           // arrival, for the order in which first GPUs are given
    double priority = 0;           // Slurm's; higher comes first, before arrival
    double steps_left = kUnknown;  // Q; unknown: see Options::steps_assumed
    double steps_done = 0;
    double restart_s = 10;  // cost of one stop and restart
    model::SpeedModel speed;
    bool by_parts = false;  // keeps what it holds; each doubling is placed for itself (doc/live.md)
    int gpus_cap = kAnySize;  // do not grow beyond: its speed there is a mere guess
    double weight = 1;        // of one second of this job
    std::span<const float>
        curve_ms;  // step time on 1..size() GPUs, not owned; empty: `speed` holds

    [[nodiscard]] Ladder ladder() const { return {gpus_min, gpus_max}; }
    // Pinned, or at a size that is not on its ladder: its size is not a policy's to change.
    [[nodiscard]] bool keeps_its_size() const {
        return pinned || (gpus_now > 0 && !ladder().contains(gpus_now));
    }
};

// Milliseconds of one step on `gpus` GPUs: of the curve where there is one, of the model elsewhere.
[[nodiscard]] inline double step_ms(const Job &job, int gpus) {
    if (gpus >= 1 && static_cast<std::size_t>(gpus) <= job.curve_ms.size())
        return job.curve_ms[static_cast<std::size_t>(gpus) - 1];
    return job.speed.step_ms(gpus);
}

struct Allotment {
    uint32_t job_id = 0;
    int gpus = 0;
    Reason reason = Reason::none;
    double gain_s_per_gpu = 0;  // of the last doubling that was granted or refused
    int next_gpus = 0;  // the doubling that was refused (0: none): what would change the size
};

// GPUs per node that malleable jobs may hold: all of a node's usable GPUs, less those of rigid jobs
// that run there and of those that wait and come first. Jobs up to one node's size stay on one
// node; larger ones take whole nodes.
struct Capacity {
    std::vector<int> node_gpus;  // negative: the node takes nobody
    int gpus_per_node = 0;       // of a whole node; 0: the largest of node_gpus
    int kept_for_rigid = 0;  // GPUs already taken out for rigid jobs that wait (for the reasons)
};

[[nodiscard]] int total_gpus(const Capacity &capacity);  // nodes that take nobody count nothing

// How a size of a job is valued (value.h).
enum class GainRule : uint8_t {
    absolute,     // arXiv 1908.08082: seconds saved per GPU added
    relative,     // of the job's own time on one GPU: needs no steps left, long jobs do not hoard
    short_first,  // between the two: the job that is done soonest comes first, long ones follow
                  // closely
    hull,  // absolute, over the best of all larger sizes: escapes a first doubling that loses
};

inline constexpr std::size_t kParamsMax = 8;

struct Options {
    GainRule gain = GainRule::absolute;
    double payback = 1.0;         // a growth must save more seconds than payback x the restart's
    double power = 0.9;           // of a job's own time, in short_first (value.h)
    double size_lasts_s = 800;    // until others come or go: so often a restart is paid (value.h)
    double steps_assumed = 1000;  // steps left unknown: as many as were done, but at least so many
    std::array<double, kParamsMax> own{};  // the policy's own parameters, in the order of its list
};

// A number that an administrator may set for a policy in malleable.yaml.
struct Param {
    std::string_view name;  // the key there; begins with the policy's name
    double low, high;       // inclusive
    double initial;
    std::string_view help;             // one sentence for the man page, without its full stop
    double Options::*field = nullptr;  // where it goes; null: to its place in Options::own
};

// The allotments in the order of `jobs`. Independent of that order, and never outside
// gpus_min..gpus_max or off the ladder, except that pinned jobs and those that now run off their
// ladder keep gpus_now. A running job never gets fewer than gpus_min; a waiting one gets gpus_min
// or more, or 0.
using Decide = std::vector<Allotment> (*)(std::span<const Job> jobs, const Capacity &capacity,
                                          const Options &options);

// A policy by its name in malleable.yaml and on ringsim's command line.
struct Policy {
    std::string_view name;
    Decide decide = nullptr;
    std::string_view help;  // one line
    std::span<const Param> params = {};
    GainRule gain = GainRule::absolute;
};

// Each file named in policies.mk defines one, FILE_policies.
using PolicyList = std::span<const Policy>;

[[nodiscard]] PolicyList policies();
[[nodiscard]] const Policy *find_policy(std::string_view name);  // nullptr: no such policy
[[nodiscard]] const Param *find_param(std::string_view name);    // of any policy

// The policy's options, with its parameters as `value(param)` says.
template <class Value>
[[nodiscard]] Options options_of(const Policy &policy, Value value) {
    Options out{.gain = policy.gain};
    for (std::size_t i = 0; i < policy.params.size(); ++i) {
        const Param &param = policy.params[i];
        (param.field ? out.*param.field : out.own[i]) = value(param);
    }
    return out;
}

}  // namespace ringrt::policy
