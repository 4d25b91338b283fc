// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/daemon_options.h"

#include <cstdlib>

#include "slurm_plugin/slurm/base/option_table.h"

namespace ringrt::slurm {
namespace {

std::function<std::string(const std::string &)> path_into(std::string &out) {
    return [&out](const std::string &value) -> std::string {
        if (value.empty() || value.front() != '/')
            return "expected an absolute path, got \"" + value + "\"";
        out = value;
        return {};
    };
}

}  // namespace

std::optional<int> parse_daemon_options(int argc, char **argv, DaemonOptions &options) {
    if (const char *facts = std::getenv(kFactsVariable)) {
        const std::string wrong = path_into(options.facts)(facts);
        if (!wrong.empty()) return usage_error("ringrtd", kFactsVariable + (": " + wrong));
    }
    const auto metrics = [&options](const std::string &value) {
        return options.metrics = value, std::string();
    };
    const auto check = [&options](const std::string &) {
        return options.check = true, std::string();
    };
    return parse_options(
        argc, argv,
        {.program = "ringrtd",
         .about = "The controller of malleable jobs, as a daemon outside slurmctld. Runs in the\n"
                  "foreground, as SlurmUser. If several run for one cluster, one is active.",
         .below = "Signals: SIGHUP rereads the configuration and reopens the logs, SIGUSR1\n"
                  "reopens its own log, SIGTERM and SIGINT end it. Exit status: 0 success;\n"
                  "1 failure; 2 something must be corrected first: the command line, the\n"
                  "configuration, the user, Slurm's version or SchedulerType. See ringrtd(8).",
         .options = {
             {"config", 0, "FILE", "read this instead of malleable.yaml next to slurm.conf",
              path_into(options.config)},
             {"log-file", 0, "FILE", "log there instead of standard error",
              path_into(options.log_file)},
             {"facts", 0, "FILE",
              "for job_submit/malleable (default $RINGRT_FACTS or\n" + std::string(kFactsPath) +
                  ")",
              path_into(options.facts)},
             {"metrics", 0, "ADDR:PORT",
              "serve OpenMetrics at http://ADDR:PORT/metrics, on\nloopback (default: no)", metrics},
             {"check", 0, nullptr, "check the configuration and exit", check}}});
}

}  // namespace ringrt::slurm
