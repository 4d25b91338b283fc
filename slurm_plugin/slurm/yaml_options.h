// SPDX-License-Identifier: GPL-2.0-or-later
// malleable.yaml: the controller's parameters, one `key: value` a line, beside slurm.conf.
//
// The keys are those of controller/options.h and `event_log`. Bounded before it is parsed (64 KiB,
// nesting 16, no aliases). Unknown or repeated keys and wrong values are errors with their line.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "slurm_plugin/controller/options.h"

namespace ringrt::slurm {

inline constexpr std::size_t kYamlBytesMax = 64 * 1024;
inline constexpr int kYamlDepthMax = 16;

struct PluginOptions {
    controller::Options controller;
    std::string event_log;  // path; empty: malleable_events.jsonl beside slurmctld's log
};

struct YamlError {
    std::string
        message;  // `malleable.yaml:3: unknown key "foo"; expected one of mode, policy, ...`
};

// `name` stands in messages for the file.
[[nodiscard]] std::variant<PluginOptions, YamlError> parse_yaml(std::string_view text,
                                                                std::string_view name);

// A file that does not exist means the defaults.
[[nodiscard]] std::variant<PluginOptions, YamlError> read_yaml(const std::string &path);

}  // namespace ringrt::slurm
