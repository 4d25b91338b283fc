// SPDX-License-Identifier: BSD-3-Clause
// What the plugin decides from and where it writes, seen from outside slurmctld.
#pragma once

#include <string>
#include <vector>

#include "slurm_plugin/controller/controller.h"

namespace ringrt::ringstat {

struct PluginView {
    controller::Options options;
    std::string yaml;  // malleable.yaml
    std::string event_log;
    std::string diag;   // the file in which the plugin tells of itself
    std::string error;  // empty, or one line: slurmctld does not answer
    std::string note;   // empty, or one line: why the options are the defaults
};

// By malleable.yaml beside the slurm.conf in use.
[[nodiscard]] PluginView view_plugin();

struct Explanations {
    std::vector<controller::Explanation> explanations;
    std::string error;  // empty, or why Slurm told nothing
};

// The decision that the plugin would take now, for each malleable job that has not ended.
[[nodiscard]] Explanations explain_all(const controller::Options &options);

}  // namespace ringrt::ringstat
