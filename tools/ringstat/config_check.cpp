// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/config_check.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "slurm_plugin/slurm/host/yaml_options.h"
#include "tools/ringstat/output.h"
#include "tools/ringstat/plugin_view.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::ordered_json;
using slurm::PluginOptions;

std::string effective_text(const PluginOptions &options) {
    const PluginOptions defaults;
    std::string out;
    for (const std::string_view key : slurm::yaml_keys()) {
        const std::string value = slurm::get_key(options, key);
        const bool is_default = value == slurm::get_key(defaults, key);
        std::string line = std::string(key) + ": " + printable(value);
        if (value.empty()) line = "# " + std::string(key) + ": (where it is by default)";
        out += is_default && !value.empty() ? fit(line, 40, false) + "# default\n" : line + "\n";
    }
    return out;
}

std::string result_json(const std::string &file, const PluginOptions *options,
                        const std::string &error) {
    Json values;
    for (const std::string_view key : slurm::yaml_keys())
        if (options != nullptr) values[std::string(key)] = slurm::get_key(*options, key);
    const Json json = {{"file", file},
                       {"ok", options != nullptr},
                       {"error", error.empty() ? Json(nullptr) : Json(error)},
                       {"options", values}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int check_config(const Options &options) {
    std::string file = options.yaml_file;
    const bool is_sites = file.empty();
    if (is_sites) {
        const PluginView plugin = view_plugin();
        if (!plugin.error.empty())
            return fail(kNoAnswer, plugin.error + " where malleable.yaml is: name the file");
        file = plugin.yaml;
    }
    const bool is_there = access(file.c_str(), F_OK) == 0;
    if (!is_there && !is_sites)
        return fail(kNoAnswer, "cannot open " + printable(file) + ": " + std::strerror(errno));
    const auto read = slurm::read_yaml(file);
    const auto *good = std::get_if<PluginOptions>(&read);
    const std::string error = good == nullptr ? std::get<slurm::YamlError>(read).message : "";
    if (options.json) put(result_json(file, good, error));
    if (good == nullptr) {  // FILE:LINE first, for editors
        std::fflush(stdout);
        std::fprintf(stderr, "%s\n", printable(error).c_str());
        return kNoAnswer;
    }
    if (options.json) return kOk;
    put(printable(file) +
        (is_there ? ": no errors\n" : ": there is no such file: the defaults apply\n"));
    if (options.verbose) put(effective_text(*good));
    return kOk;
}

}  // namespace ringrt::ringstat
