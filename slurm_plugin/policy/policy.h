// SPDX-License-Identifier: BSD-3-Clause
// The policy interface. A policy is a deterministic function from a snapshot of jobs and free
// capacity to a number of GPUs for each job. It uses no clock, thread, file or Slurm call: time is
// an argument.
//
// The plugin, the simulator and the tests link the same objects. doc/policies.md describes how to
// add a policy.
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

// A malleable job, as a policy sees it.
struct Job {
    uint32_t id = 0;
    int gpus_min = 1;
    int gpus_max = 1;
    int gpus_now = 0;     // 0: pending
    bool pinned = false;  // keep gpus_now: a resize is under way or cannot be requested now
    // It may be paused: get 0 GPUs although it runs. It then saves, leaves its GPUs and waits.
    bool may_pause = false;
    bool paused = false;  // pending because it was paused: it has no place among the other pending
    std::vector<NodeShare> held;   // where it runs; empty: unknown
    double submit_s = 0;           // arrival: the order in which jobs get their first GPUs
    double priority = 0;           // Slurm's; a higher priority comes first, before arrival
    double steps_left = kUnknown;  // Q; if unknown, see Options::steps_assumed
    double steps_done = 0;
    double restart_s = 10;  // cost of one stop and restart
    model::SpeedModel speed;
    std::vector<model::SpeedSample> measured;  // step times that take precedence over `speed`
    bool by_parts = false;    // keeps its GPUs; each doubling is placed separately (doc/live.md)
    int gpus_cap = kAnySize;  // limit on growth: the speed above it is a guess
    double weight = 1;        // of one second of this job
    std::span<const float> curve_ms;  // step time on 1..size() GPUs, not owned; empty: use `speed`

    [[nodiscard]] Ladder ladder() const { return {gpus_min, gpus_max}; }
    // Pinned, or at a size that is not on its ladder: a policy must not change its size.
    [[nodiscard]] bool keeps_its_size() const {
        return pinned || (gpus_now > 0 && !ladder().contains(gpus_now));
    }
};

// Milliseconds per step on `gpus` GPUs: as measured, or from the curve if it covers this size, or
// from the model.
[[nodiscard]] inline double step_ms(const Job &job, int gpus) {
    for (const model::SpeedSample &sample : job.measured)
        if (sample.gpus == gpus) return sample.step_ms;
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

// GPUs per node that malleable jobs may hold: a node's usable GPUs, minus those of rigid jobs that
// run there and of pending rigid jobs that come first. A job up to the size of one node stays on
// one node. A larger job has the same number on each of its nodes.
struct Capacity {
    std::vector<int> node_gpus;  // negative: the node accepts no job
    int gpus_per_node = 0;       // of a whole node; 0: the largest of node_gpus
    int kept_for_rigid = 0;      // GPUs already subtracted for pending rigid jobs (for the reasons)
};

[[nodiscard]] int total_gpus(const Capacity &capacity);  // nodes that accept no job count as 0

// The rule that gives the value of a job's size (value.h).
enum class GainRule : uint8_t {
    absolute,     // arXiv 1908.08082: seconds saved per GPU added
    relative,     // to the job's time on one GPU: needs no steps left, long jobs do not hoard
    short_first,  // between the two: the job that ends soonest comes first, long jobs follow
                  // closely
    hull,  // absolute, over the best of all larger sizes: escapes a first doubling that loses
};

inline constexpr std::size_t kParamsMax = 8;

struct Options {
    GainRule gain = GainRule::absolute;
    double payback = 1.0;  // a growth must save more than payback x the restart time, in seconds
    double power = 0.86;   // exponent of a job's own time, in short_first (value.h)
    double size_lasts_s = 400;    // expected time until other jobs change the size (value.h)
    double steps_assumed = 1000;  // if steps left are unknown: at least this, or the steps done
    std::array<double, kParamsMax> own{};  // the policy's own parameters, in the order of its list
};

// A number that an administrator can set for a policy in malleable.yaml.
struct Param {
    std::string_view name;  // the key in malleable.yaml; begins with the policy's name
    double low, high;       // inclusive
    double initial;
    std::string_view help;             // one sentence for the man page, without the full stop
    double Options::*field = nullptr;  // where it is stored; null: at its index in Options::own
};

// Returns the allotments in the order of `jobs`; the sizes do not depend on that order. Sizes are
// on the ladder, between gpus_min and gpus_max, except that pinned jobs and jobs that now run off
// their ladder keep gpus_now. A running job gets at least gpus_min, or 0 if it may be paused. A
// pending job gets at least gpus_min, or 0.
using Decide = std::vector<Allotment> (*)(std::span<const Job> jobs, const Capacity &capacity,
                                          const Options &options);

// A policy, by its name in malleable.yaml and on ringsim's command line.
struct Policy {
    std::string_view name;
    Decide decide = nullptr;
    std::string_view help;  // one line
    std::span<const Param> params = {};
    GainRule gain = GainRule::absolute;
};

// Each file in policies.mk defines one, named FILE_policies.
using PolicyList = std::span<const Policy>;

[[nodiscard]] PolicyList policies();
[[nodiscard]] const Policy *find_policy(std::string_view name);  // nullptr: no such policy
[[nodiscard]] const Param *find_param(std::string_view name);    // of any policy

// The policy's options, with its parameters set to `value(param)`.
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
