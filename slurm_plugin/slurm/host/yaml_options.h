// SPDX-License-Identifier: GPL-2.0-or-later
// malleable.yaml: the controller's parameters, one `key: value` per line, next to slurm.conf.
//
// The keys are those of controller/options.h, plus `event_log` and `metrics_file`. The text is
// bounded before parsing (64 KiB, nesting 16, no aliases). Unknown or repeated keys and invalid
// values are errors with a line number.
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
    std::string event_log;     // path; empty: malleable_events.jsonl next to slurmctld's log
    std::string metrics_file;  // path, rewritten every few seconds; empty: not written
    bool found = true;         // the file exists
    std::string text;          // its content
};

// All keys, and the text of a key's value.
[[nodiscard]] std::vector<std::string_view> yaml_keys();
[[nodiscard]] std::string get_key(const PluginOptions &options, std::string_view key);

struct YamlError {
    std::string message;  // malleable.yaml:3: unknown key "foo"; expected one of mode, ...
};

// `name`: the file's name in messages.
[[nodiscard]] std::variant<PluginOptions, YamlError> parse_yaml(std::string_view text,
                                                                std::string_view name);

// A missing file means the defaults, which change nothing.
[[nodiscard]] std::variant<PluginOptions, YamlError> read_yaml(const std::string &path);

}  // namespace ringrt::slurm
