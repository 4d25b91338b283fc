// SPDX-License-Identifier: BSD-3-Clause
// What the plugin decides from and where it writes, seen from outside slurmctld.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "slurm_plugin/controller/controller.h"

namespace ringrt::ringstat {

struct PluginView {
    controller::Options options;
    std::string event_log;
    std::string diag;   // the file in which the plugin tells of itself
    std::string error;  // empty, or one line: slurmctld does not answer
    std::string note;   // empty, or one line: why the options are the defaults
};

// By malleable.yaml beside the slurm.conf in use.
[[nodiscard]] PluginView view_plugin();

struct JobExplanation {
    std::optional<controller::Explanation> explanation;  // nullopt: no such malleable job
    std::string error;                                   // empty, or why Slurm told nothing
};

// The decision that the plugin would take now.
[[nodiscard]] JobExplanation explain_job(uint32_t job_id, const controller::Options &options);

}  // namespace ringrt::ringstat
