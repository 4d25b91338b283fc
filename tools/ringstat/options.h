// SPDX-License-Identifier: BSD-3-Clause
// ringstat's command line.
#pragma once

#include <optional>
#include <string>

#include "tools/ringstat/job_view.h"

namespace ringrt::ringstat {

enum class Command { list, explain, history, diag };

enum Exit { kOk = 0, kNoAnswer = 1, kUsage = 2, kNoSuchJob = 3 };

struct Options {
    Command command = Command::list;
    Filter filter;
    std::string format;  // empty: kDefaultFormat
    bool header = true;
    bool json = false;
    double iterate_s = 0;   // 0: once
    uint32_t job = 0;       // of explain and history; history: 0 is all
    std::string diag_file;  // of diag; empty: where the plugin writes it
    std::string event_log;  // empty: where the plugin's configuration says
};

// nullopt: to be run. Otherwise everything is said, and this is the exit status.
[[nodiscard]] std::optional<int> parse_options(int argc, char **argv, Options &out);

}  // namespace ringrt::ringstat
