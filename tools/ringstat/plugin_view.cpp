// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/plugin_view.h"

#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/cluster/slurm_library.h"
#include "slurm_plugin/slurm/host/slurm_paths.h"
#include "slurm_plugin/slurm/host/yaml_options.h"
#include "tools/ringstat/published.h"

namespace ringrt::ringstat {

PluginView view_plugin() {
    slurm::init_slurm_library();
    const auto paths = slurm::ask_slurm_paths();
    if (!paths) return {.error = "slurmctld does not answer"};
    PluginView view{.yaml = paths->yaml,
                    .event_log = paths->event_log,
                    .diag = paths->diag,
                    .explain = paths->explain};
    const auto read = slurm::read_yaml(paths->yaml);
    if (const auto *error = std::get_if<slurm::YamlError>(&read)) {
        view.note = error->message + "; using the defaults";
        return view;
    }
    const auto &options = std::get<slurm::PluginOptions>(read);
    view.options = options.controller;
    if (!options.event_log.empty()) view.event_log = options.event_log;
    return view;
}

Explanations compute_all(const PluginView &plugin) {
    slurm::init_slurm_library();
    slurm::SlurmCluster cluster;
    controller::Observation observation;
    Explanations out{.mode = controller::get_parameter(plugin.options, "mode")};
    if (cluster.observe(observation) == controller::RpcStatus::ok)
        out.explanations = controller::explain(observation, plugin.options);
    else
        out.error = "slurmctld does not answer: " + cluster.last_error();
    return out;
}

Explanations explain_all(const PluginView &plugin, double now_s) {
    Published published = read_published(plugin.explain, now_s);
    if (published.time_s <= 0) return compute_all(plugin);
    return {.explanations = std::move(published.explanations),
            .published_s = published.time_s,
            .mode = std::move(published.mode)};
}

}  // namespace ringrt::ringstat
