// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of ringrtd.
#pragma once

#include <optional>
#include <string>

#include "slurm_plugin/slurm/host/facts_file.h"

namespace ringrt::slurm {

inline constexpr int kFailed = 1, kWrong = 2;  // kWrong: an administrator must change something

struct DaemonOptions {
    std::string config, log_file, facts = kFactsPath, metrics;
    bool check = false;
};

// Returns an exit status if the program must end: after --help, --version or a one-line error.
[[nodiscard]] std::optional<int> parse_daemon_options(int argc, char **argv,
                                                      DaemonOptions &options);

}  // namespace ringrt::slurm
