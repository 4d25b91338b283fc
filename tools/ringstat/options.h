// SPDX-License-Identifier: BSD-3-Clause
// ringstat's command line.
#pragma once

#include <optional>
#include <string>

#include "tools/ringstat/job_view.h"

namespace ringrt::ringstat {

enum class Command { list, explain, history, chart, top, acct, check, diag, detach };

enum Exit { kOk = 0, kNoAnswer = 1, kUsage = 2, kNoSuchJob = 3 };

struct Options {
    Command command = Command::list;
    Filter filter;
    std::string format;  // empty: kDefaultFormat
    std::string sort;    // empty: by id
    bool header = true;  // and the summary
    bool json = false;
    double iterate_s = 0;             // 0: once
    std::optional<WantedJob> job;     // of explain and history; history without one: all
    double since_s = 0, until_s = 0;  // of history, chart and acct, Unix times; 0: not given
    std::size_t last = 0;             // of history; 0: all
    std::string svg;                  // of chart: the file; empty: text
    bool all_users = false;           // of acct
    double detach_wait_s = 600;
    std::string diag_file;  // of diag; empty: where the plugin writes it
    std::string event_log;  // empty: the path in the plugin's configuration
    std::string yaml_file;  // of check; empty: the site's
    bool verbose = false;   // of check
};

// nullopt: run the command. Otherwise all output is done, and this is the exit status.
[[nodiscard]] std::optional<int> parse_options(int argc, char **argv, Options &out);

}  // namespace ringrt::ringstat
