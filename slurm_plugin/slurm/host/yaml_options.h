// SPDX-License-Identifier: GPL-2.0-or-later
// malleable.yaml: the controller's parameters, one `key: value` a line, beside slurm.conf.
//
// The keys are those of controller/options.h, `event_log` and `metrics_file`. Bounded before it is
// parsed (64 KiB, nesting 16, no aliases). Unknown or repeated keys and wrong values are errors
// with their line.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "slurm_plugin/controller/options.h"

namespace ringrt::slurm {

inline constexpr std::size_t kYamlBytesMax = 64 * 1024;
inline constexpr int kYamlDepthMax = 16;

struct PluginOptions {
    controller::Options controller;
    std::string event_log;     // path; empty: malleable_events.jsonl beside slurmctld's log
    std::string metrics_file;  // path, rewritten every few seconds; empty: not written
    bool found = true;         // there is a file
    std::string text;          // what stands in it
};

// Every key, and the text of its value.
[[nodiscard]] std::vector<std::string_view> yaml_keys();
[[nodiscard]] std::string get_key(const PluginOptions &options, std::string_view key);

struct YamlError {
    std::string
        message;  // `malleable.yaml:3: unknown key "foo"; expected one of mode, policy, ...`
};

// `name` stands in messages for the file.
[[nodiscard]] std::variant<PluginOptions, YamlError> parse_yaml(std::string_view text,
                                                                std::string_view name);

// A file that does not exist means the defaults: to touch nothing.
[[nodiscard]] std::variant<PluginOptions, YamlError> read_yaml(const std::string &path);

}  // namespace ringrt::slurm
