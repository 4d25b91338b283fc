// SPDX-License-Identifier: BSD-3-Clause
// A policy as it is named on the command line, read once and carried as a value.
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

// Where policies know a job's speed and remaining work from.
enum class Knowledge : uint8_t {
    oracle,   // from the profile: the truth
    learned,  // from what the job has measured so far, on this trace, nothing else
    alone,    // the same without what others of its application measured, or the work left
    wrong,    // the truth times a fixed random factor per job and size
    plugin,   // what jobs tell the plugin, shared by application
};

[[nodiscard]] constexpr std::string_view knowledge_name(Knowledge knowledge) {
    constexpr std::string_view kNames[] = {"oracle", "learned", "alone", "wrong", "telemetry"};
    return kNames[static_cast<std::size_t>(knowledge)];
}

struct PolicySpec {
    std::string name;  // as it was given
    std::variant<policy::Decide, policy::SimDecide> decide;
    policy::Options options;
    Placement placement = Placement::pack;
    Placement authors_placement = Placement::pack;  // as its authors' own simulator places it
    bool on_ladder = true;                          // it gives MIN times powers of two alone
    bool adapts_batch = false;
    int fixed_gpus = 0;  // every job asks for this size instead of its own; 0: its own
    Knowledge knowledge = Knowledge::learned;
    bool says_knowledge = false;  // NAME@KNOWLEDGE was given
    // The plugin's own loop, with its parameters of malleable.yaml; none: a policy by itself.
    std::optional<controller::Options> plugin;
    bool plugin_restart_set = false;  // its restart_s is not the simulation's

    [[nodiscard]] std::vector<policy::Allotment> run(const policy::SimJobs &jobs,
                                                     const policy::Capacity &capacity) const {
        if (const auto *plain = std::get_if<policy::Decide>(&decide))
            return (*plain)(jobs.jobs, capacity, options);
        return std::get<policy::SimDecide>(decide)(jobs, capacity, options);
    }
    // The size after `gpus` that the policy may ask about: of one that keeps to the ladder, after
    // one GPU, the ladder's.
    [[nodiscard]] int next_size(const JobSpec &job, int gpus) const {
        if (!on_ladder || fixed_gpus > 0) return gpus + 1;
        int size = job.gpus_min;
        while (size <= gpus) size *= 2;
        return size;
    }
};

// What a policy knows of the jobs, in a word, and what that word means.
[[nodiscard]] std::string_view knows(const PolicySpec &policy);
[[nodiscard]] std::string_view meaning_of_knows(std::string_view word);

// NAME or NAME@KNOWLEDGE. Throws InputError naming the known ones.
[[nodiscard]] PolicySpec parse_policy(std::string_view text);

struct PolicyRow {
    std::string_view name;
    Knowledge knowledge;  // unless the name says otherwise: NAME@oracle, @learned, @alone, @wrong
    std::string_view help;
};

// All names, for --help and the man page. "fixed:K" stands for any K.
[[nodiscard]] std::vector<PolicyRow> policy_rows();

}  // namespace ringrt::sim
