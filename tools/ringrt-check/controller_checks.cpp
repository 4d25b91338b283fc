// SPDX-License-Identifier: BSD-3-Clause
#include <glob.h>

#include <algorithm>

#include "slurm_plugin/slurm/host/yaml_options.h"
#include "tools/ringrt-check/checks.h"
#include "tools/ringrt-check/text_file.h"

namespace ringrt::check {
namespace {

using Findings = std::vector<Finding>;

constexpr char kScheduler[] = "sched/doubling";
constexpr char kUnit[] = "/etc/systemd/system/*.wants/ringrtd.service";

bool is_enabled(const char *unit) {
    glob_t found{};
    const bool any = glob(unit, 0, nullptr, &found) == 0 && found.gl_pathc > 0;
    globfree(&found);
    return any;
}

// A plugin that slurmctld loads. If its version differs, slurmctld does not start.
void check_plugin(const Site &site, const std::string &name, Findings &out) {
    const std::string path = find_plugin(site, name);
    std::string error;
    const auto built_for =
        path.empty() ? std::optional<SlurmVersion>() : plugin_version(path, error);
    if (path.empty())
        out.push_back(
            {Level::wrong, "plugin",
             name + " is not in " + directories(site) +
                 ": slurmctld would not start; install it, or take it out of slurm.conf"});
    else if (!built_for)
        out.push_back({Level::wrong, "plugin", path + ": " + error});
    else if (site.slurm && *built_for != *site.slurm)
        out.push_back({Level::wrong, "plugin_version",
                       path + " was built for Slurm " + built_for->text() + ", this host has " +
                           site.slurm->text() +
                           ": slurmctld would not start; build the plugins again for " +
                           site.slurm->text() + ", or take it out of slurm.conf"});
    else
        out.push_back(
            {Level::ok, "plugin_version", path + " was built for Slurm " + built_for->text()});
}

// Plugin or daemon: exactly one of the two must decide.
void check_host(const Site &site, Findings &out) {
    const std::string scheduler = site.conf.value("SchedulerType");
    const bool plugin = lower(scheduler) == kScheduler;
    const bool daemon =
        site.host == Host::daemon || (site.host == Host::find_out && is_enabled(kUnit));
    const std::string says =
        "SchedulerType is " + (scheduler.empty() ? std::string("not set") : shown(scheduler));
    if (plugin && daemon)
        out.push_back({Level::wrong, "host",
                       says + " and ringrtd is enabled: choose one; for ringrtd set "
                              "SchedulerType=sched/backfill"});
    else if (plugin)
        out.push_back({Level::ok, "host", says + ": the controller runs in slurmctld"});
    else if (site.host == Host::plugin)
        out.push_back({Level::wrong, "host", says + ", expected sched/doubling"});
    else if (daemon)
        out.push_back({Level::ok, "host", says + " and ringrtd is the controller"});
    else
        out.push_back({Level::wrong, "host",
                       says + " and ringrtd is not enabled here: no job would be resized; set "
                              "SchedulerType=sched/doubling, or enable ringrtd"});
    if (plugin) check_plugin(site, "sched_doubling.so", out);
}

// In the last place, it receives the job as the site's plugins changed it, and no plugin overwrites
// its changes.
void check_job_submit(const Site &site, Findings &out) {
    const std::string list = site.conf.value("JobSubmitPlugins");
    const auto names = split(list, ", ");
    const auto is_ours = [](const std::string &name) {
        return lower(name) == "malleable" || lower(name) == "job_submit/malleable";
    };
    const auto ours = std::ranges::find_if(names, is_ours);
    if (ours == names.end()) {
        out.push_back({Level::wrong, "job_submit",
                       list.empty()
                           ? "JobSubmitPlugins is not set: no job would be malleable; set "
                             "JobSubmitPlugins=malleable"
                           : "JobSubmitPlugins=" + shown(list) +
                                 " lacks malleable: no job would be malleable; put it last"});
        return;
    }
    if (std::next(ours) != names.end())
        out.push_back({Level::warning, "job_submit_order",
                       "JobSubmitPlugins: " + shown(*std::next(ours)) +
                           " comes after malleable; it must not change a malleable job's GPUs, "
                           "tasks, CPUs or AdminComment. Put malleable last if you can"});
    else
        out.push_back({Level::ok, "job_submit", "JobSubmitPlugins=" + shown(list)});
    check_plugin(site, "job_submit_malleable.so", out);
}

void check_gpus(const Site &site, Findings &out) {
    const std::string select = site.conf.value("SelectType");
    const bool old = site.slurm && site.slurm->number < 0x170200;  // 23.02 changed the default
    if ((select.empty() && old) || (!select.empty() && lower(select) != "select/cons_tres"))
        out.push_back({Level::wrong, "select_type",
                       "SelectType is " + (select.empty() ? "select/linear" : shown(select)) +
                           ": only select/cons_tres allocates GPUs"});
    const auto types = split(site.conf.value("GresTypes"), ", ");
    const auto is_gpu = [](const std::string &type) { return lower(type) == "gpu"; };
    const auto has_gpu = [](const std::string &gres) { return lower(gres).find("gpu") == 0; };
    if (std::ranges::none_of(types, is_gpu))
        out.push_back(
            {Level::wrong, "gres_types", "GresTypes lacks gpu: Slurm does not manage GPUs"});
    else if (std::ranges::none_of(site.conf.node_gres, has_gpu))
        out.push_back({Level::warning, "gres", "no NodeName line has Gres=gpu:..."});
    else
        out.push_back({Level::ok, "gres", "GresTypes has gpu, and nodes have it"});
}

void check_yaml(const Site &site, Findings &out) {
    const std::string path = directory_of(site.conf.path) + "/malleable.yaml";
    const auto read = slurm::read_yaml(path);
    if (const auto *error = std::get_if<slurm::YamlError>(&read)) {
        out.push_back({Level::wrong, "yaml", error->message});
        return;
    }
    const auto &options = std::get<slurm::PluginOptions>(read).controller;
    const std::string mode = controller::get_parameter(options, "mode");
    std::string error;
    const bool there = read_file(path, slurm::kYamlBytesMax, error).has_value();
    out.push_back({mode == "act" ? Level::ok : Level::note, "yaml",
                   path + (there ? "" : " does not exist") + ": mode " + mode +
                       (mode == "act" ? "" : ", no job is resized")});
}

// A configless site's nodes get plugstack.conf from this host.
void check_nodes_plugstack(const Site &site, Findings &out) {
    const std::string parameters = lower(site.conf.value("SlurmctldParameters"));
    const bool configless = parameters.find("enable_configless") != std::string::npos;
    check_plugstack(site, configless ? Level::wrong : Level::warning, out);
}

}  // namespace

Findings check_controller(const Site &site) {
    Findings out;
    if (!site.conf.error.empty()) return {{Level::wrong, "slurm_conf", site.conf.error}};
    check_slurm_version(site, out);
    check_host(site, out);
    check_job_submit(site, out);
    check_gpus(site, out);
    check_yaml(site, out);
    check_nodes_plugstack(site, out);
    return out;
}

}  // namespace ringrt::check
