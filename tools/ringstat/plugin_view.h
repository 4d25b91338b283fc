// SPDX-License-Identifier: BSD-3-Clause
// The plugin's inputs and output paths, seen from outside slurmctld.
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
    std::string diag;     // the file with the plugin's report about itself
    std::string explain;  // the file with its explanation of each job
    std::string error;    // empty, or one line: slurmctld does not answer
    std::string note;     // empty, or one line: why the options are the defaults
};

// From malleable.yaml next to the slurm.conf in use.
[[nodiscard]] PluginView view_plugin();

struct Explanations {
    std::vector<controller::Explanation> explanations;
    // Unix time of the controller's decision. None: the controller has published nothing; these are
    // the decisions of a controller that has only the jobs' records.
    std::optional<double> published_s;
    std::string mode;   // the mode in which they were made
    std::string error;  // empty, or why Slurm reported nothing
};

// For each malleable job that has not ended: the controller's own explanations if it published any.
[[nodiscard]] Explanations explain_all(const PluginView &plugin, double now_s);
[[nodiscard]] Explanations compute_all(const PluginView &plugin);

}  // namespace ringrt::ringstat
