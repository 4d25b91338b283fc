// SPDX-License-Identifier: GPL-2.0-or-later
// The effects of an administrator's command on a running Slurm, by its public API.
#pragma once

#include <optional>
#include <string>

namespace ringrt::slurm {

// nullopt: this process runs as root or SlurmUser. Otherwise a one-line error.
[[nodiscard]] std::optional<std::string> not_administrator();

// As `scontrol reconfigure`. nullopt: done; otherwise Slurm's error text.
[[nodiscard]] std::optional<std::string> reconfigure();

// Sets `mode: MODE` in the file at `path`. Its other lines, owner and permissions stay. Creates the
// file if it does not exist. nullopt: done; otherwise a one-line error.
[[nodiscard]] std::optional<std::string> set_mode(const std::string &path, const std::string &mode);

}  // namespace ringrt::slurm
