// SPDX-License-Identifier: BSD-3-Clause
// What the plugin decides from and where it writes, seen from outside slurmctld.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/explain.h"
#include "slurm_plugin/controller/options.h"

namespace ringrt::ringstat {

struct PluginView {
    controller::Options options;
    std::string yaml;  // malleable.yaml
    std::string event_log;
    std::string diag;     // the file in which the plugin tells of itself
    std::string explain;  // the file in which it explains each job
    std::string error;    // empty, or one line: slurmctld does not answer
    std::string note;     // empty, or one line: why the options are the defaults
};

// By malleable.yaml beside the slurm.conf in use.
[[nodiscard]] PluginView view_plugin();

struct Explanations {
    std::vector<controller::Explanation> explanations;
    // Unix time at which the controller decided so; none: it has told nothing, and they are what a
    // controller that knows nothing but the jobs' records would decide now.
    std::optional<double> told_s;
    std::string mode;   // that they were made for
    std::string error;  // empty, or why Slurm told nothing
};

// Of each malleable job that has not ended: the controller's own where it has told any.
[[nodiscard]] Explanations explain_all(const PluginView &plugin, double now_s);
[[nodiscard]] Explanations compute_all(const PluginView &plugin);

}  // namespace ringrt::ringstat
