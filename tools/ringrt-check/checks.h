// SPDX-License-Identifier: BSD-3-Clause
// The checks before slurmctld starts, or on a node before jobs can be malleable there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/ringrt-check/plugin_file.h"
#include "tools/ringrt-check/slurm_conf.h"

namespace ringrt::check {

enum class Level : uint8_t { ok, note, warning, wrong };

struct Finding {
    Level level = Level::ok;
    std::string check;    // a stable name, for --json
    std::string message;  // one line
};

enum class Host : uint8_t { find_out, plugin, daemon };

struct Site {
    SlurmConf conf;
    std::vector<std::string> plugin_dirs;
    std::optional<SlurmVersion> slurm;  // of Slurm's own plugins in plugin_dirs
    std::string slurm_from;             // the plugin with this version
    Host host = Host::find_out;
};

// Reads slurm.conf and finds the version of Slurm. `plugin_dir` applies if slurm.conf names none.
[[nodiscard]] Site survey(const std::string &conf_path, const std::string &plugin_dir, Host host);

[[nodiscard]] std::vector<Finding> check_controller(const Site &site);
[[nodiscard]] std::vector<Finding> check_node(const Site &site);

// ---- shared by both
[[nodiscard]] std::string find_plugin(const Site &site, const std::string &name);  // "": not found
[[nodiscard]] std::string directories(const Site &site);
void check_slurm_version(const Site &site, std::vector<Finding> &out);
// Whether plugstack.conf loads malleable.so. If not, the finding has the level `absent`.
void check_plugstack(const Site &site, Level absent, std::vector<Finding> &out);

}  // namespace ringrt::check
