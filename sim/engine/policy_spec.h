// SPDX-License-Identifier: BSD-3-Clause
// A policy as named on the command line, parsed once and passed by value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/engine/placer.h"
#include "sim/workload/workload.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/policy/baselines/baselines.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::sim {

// The source of a policy's knowledge about speed and remaining work.
enum class Knowledge : uint8_t {
    oracle,   // the profile: the truth
    learned,  // the jobs' measurements so far on this trace, nothing else
    alone,    // as learned, without the application's other jobs and without the work left
    wrong,    // the truth times a fixed random factor per job and size
    prior,    // as wrong, but right for a job's sizes at which it has run
    plugin,   // telemetry to the plugin, shared by application
};

// The truth times an error. Not for a batch that adapts.
[[nodiscard]] constexpr bool is_in_error(Knowledge knowledge) {
    return knowledge == Knowledge::wrong || knowledge == Knowledge::prior;
}

[[nodiscard]] constexpr std::string_view knowledge_name(Knowledge knowledge) {
    constexpr std::string_view kNames[] = {"oracle", "learned", "alone",
                                           "wrong",  "prior",   "telemetry"};
    return kNames[static_cast<std::size_t>(knowledge)];
}

struct PolicySpec {
    std::string name;  // as given
    std::variant<policy::Decide, policy::SimDecide> decide;
    policy::Options options;
    Placement placement = Placement::pack;
    Placement authors_placement = Placement::pack;  // placement in its authors' own simulator
    bool on_ladder = true;                          // it assigns only MIN times powers of two
    bool adapts_batch = false;
    int fixed_gpus = 0;  // size of every job; 0: each job's own request
    Knowledge knowledge = Knowledge::learned;
    bool knowledge_given = false;  // given as NAME@KNOWLEDGE
    // The plugin's own loop, with the parameters of malleable.yaml; none: a policy alone.
    std::optional<controller::Options> plugin;
    bool plugin_restart_set = false;  // its own restart_s was set, instead of the simulation's

    [[nodiscard]] std::vector<policy::Allotment> run(const policy::SimJobs &jobs,
                                                     const policy::Capacity &capacity) const {
        if (const auto *plain = std::get_if<policy::Decide>(&decide))
            return (*plain)(jobs.jobs, capacity, options);
        return std::get<policy::SimDecide>(decide)(jobs, capacity, options);
    }
    // The next size after `gpus` that the policy may ask about. For a policy on the ladder: after
    // one GPU, the sizes of the ladder.
    [[nodiscard]] int next_size(const JobSpec &job, int gpus) const {
        if (!on_ladder || fixed_gpus > 0) return gpus + 1;
        int size = job.gpus_min;
        while (size <= gpus) size *= 2;
        return size;
    }
};

// What a policy knows about the jobs, in a word, and the meaning of that word.
[[nodiscard]] std::string_view knows(const PolicySpec &policy);
[[nodiscard]] std::string_view knowledge_description(std::string_view word);

// NAME or NAME@KNOWLEDGE. Throws InputError with the known names.
[[nodiscard]] PolicySpec parse_policy(std::string_view text);

struct PolicyRow {
    std::string_view name;
    Knowledge knowledge;  // default; NAME@oracle, @learned, @alone, @wrong, @prior override it
    std::string_view help;
};

// All names, for --help and the man page. "fixed:K" stands for any K.
[[nodiscard]] std::vector<PolicyRow> policy_rows();

}  // namespace ringrt::sim
