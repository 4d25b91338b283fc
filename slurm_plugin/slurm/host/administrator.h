// SPDX-License-Identifier: GPL-2.0-or-later
// What an administrator's command does to a running Slurm, by its public API.
#pragma once

#include <optional>
#include <string>

namespace ringrt::slurm {

// nullopt: this process runs as root or SlurmUser. Otherwise one line that says so.
[[nodiscard]] std::optional<std::string> not_administrator();

// As `scontrol reconfigure`. nullopt: done; otherwise Slurm's own words.
[[nodiscard]] std::optional<std::string> reconfigure();

// The file at `path` says `mode: MODE` afterwards; the rest of it, its owner and its mode stay. A
// file that does not exist is made. nullopt: it does; otherwise what is wrong, in one line.
[[nodiscard]] std::optional<std::string> set_mode(const std::string &path, const std::string &mode);

}  // namespace ringrt::slurm
