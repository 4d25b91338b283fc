// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringrt-check/checks.h"

#include <unistd.h>

#include "tools/ringrt-check/plugstack.h"
#include "tools/ringrt-check/text_file.h"

namespace ringrt::check {
namespace {

// Slurm's own plugins: every installation has one of them, built with the version of its daemons.
constexpr const char *kOfSlurm[] = {"sched_backfill.so", "select_cons_tres.so", "auth_munge.so",
                                    "cred_munge.so"};

std::string plugstack_path(const Site &site) {
    const std::string named = site.conf.value("PlugStackConfig");
    return named.empty() ? directory_of(site.conf.path) + "/plugstack.conf" : named;
}

std::string base_name(const std::string &path) {
    return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

void check_spank_file(const Site &site, const SpankLine &line, std::vector<Finding> &out) {
    const bool whole = line.plugin.starts_with('/');
    const std::string path = whole ? line.plugin : find_plugin(site, line.plugin);
    if (path.empty() || access(path.c_str(), R_OK) != 0) {
        out.push_back({Level::wrong, "spank_plugin",
                       shown(line.plugin) + " (" + line.where + ") does not exist" +
                           (whole ? "" : ", looked in " + directories(site)) +
                           ": jobs cannot be malleable here; install the SPANK plugin"});
        return;
    }
    std::string error;
    const auto built_for = plugin_version(path, error);
    if (!built_for) {
        out.push_back({Level::wrong, "spank_version", path + ": " + error});
    } else if (site.slurm && built_for->minor() != site.slurm->minor()) {
        out.push_back({Level::wrong, "spank_version",
                       path + " was built for Slurm " + built_for->text() + ", this host has " +
                           site.slurm->text() + ": Slurm will not load it; build it again"});
    } else {
        out.push_back(
            {Level::ok, "spank_version", path + " was built for Slurm " + built_for->text()});
    }
}

void check_spank_line(const Site &site, const SpankLine &line, std::vector<Finding> &out) {
    if (line.keyword == "required")
        out.push_back({Level::wrong, "plugstack_required",
                       line.where + " has required: a node without the plugin fails every job; "
                                    "write: optional malleable.so"});
    else
        out.push_back({Level::ok, "plugstack", line.where + " loads " + shown(line.plugin)});
    check_spank_file(site, line, out);
}

}  // namespace

Site survey(const std::string &conf_path, const std::string &plugin_dir, Host host) {
    Site site{.conf = read_slurm_conf(conf_path),
              .plugin_dirs = {},
              .slurm = {},
              .slurm_from = {},
              .host = host};
    site.plugin_dirs = split(site.conf.value("PluginDir"), ":");
    if (site.plugin_dirs.empty()) site.plugin_dirs = {plugin_dir};
    for (const char *name : kOfSlurm) {
        const std::string path = find_plugin(site, name);
        std::string error;
        if (!path.empty()) site.slurm = plugin_version(path, error);
        site.slurm_from = path;
        if (site.slurm) break;
    }
    return site;
}

std::string find_plugin(const Site &site, const std::string &name) {
    for (const std::string &dir : site.plugin_dirs)
        if (const std::string path = dir + "/" + name; access(path.c_str(), F_OK) == 0) return path;
    return "";
}

std::string directories(const Site &site) {
    std::string out;
    for (const std::string &dir : site.plugin_dirs) out += (out.empty() ? "" : ":") + shown(dir);
    return out;
}

void check_slurm_version(const Site &site, std::vector<Finding> &out) {
    if (site.slurm)
        out.push_back({Level::ok, "slurm_version",
                       "Slurm " + site.slurm->text() + " (" + site.slurm_from + ")"});
    else
        out.push_back(
            {Level::wrong, "slurm_version",
             "Slurm's own plugins were not found in " + directories(site) + ": check PluginDir"});
}

void check_plugstack(const Site &site, Level absent, std::vector<Finding> &out) {
    const std::string path = plugstack_path(site);
    const Plugstack stack = read_plugstack(path);
    if (!stack.error.empty()) {
        out.push_back({absent, "plugstack", stack.error});
        return;
    }
    int found = 0;
    for (const SpankLine &line : stack.lines) {
        if (base_name(line.plugin) != "malleable.so") continue;
        if (++found == 1)
            check_spank_line(site, line, out);
        else
            out.push_back({Level::wrong, "plugstack",
                           line.where + " loads malleable.so a second time; remove one line"});
    }
    if (found == 0)
        out.push_back({absent, "plugstack",
                       path +
                           " does not load malleable.so: sbatch will not accept --malleable; add: "
                           "optional malleable.so"});
}

}  // namespace ringrt::check
