// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of ringrtd.
#pragma once

#include <string>

#include "slurm_plugin/slurm/host/facts_file.h"

namespace ringrt::slurm {

inline constexpr int kFailed = 1, kWrong = 2;  // kWrong: until an administrator changes something

struct DaemonOptions {
    std::string config, log_file, facts = kFactsPath, metrics;
    bool check = false;
};

// -1: go on; else the exit status, after --help, --version or one line that says what is wrong.
[[nodiscard]] int parse_daemon_options(int argc, char **argv, DaemonOptions &options);
// Says that line; kWrong.
[[nodiscard]] int usage_error(const std::string &what);

}  // namespace ringrt::slurm
