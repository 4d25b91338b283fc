// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/daemon_options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>

#include "build_config.h"

namespace ringrt::slurm {
namespace {

constexpr char kHelp[] =
    "Usage: ringrtd [OPTION...]\n"
    "The controller of malleable jobs, as a daemon beside slurmctld. Runs in the foreground, as\n"
    "SlurmUser; of several beside one cluster, one is active.\n"
    "\n"
    "  --config FILE        read this instead of malleable.yaml beside slurm.conf\n"
    "  --log-file FILE      log there instead of standard error\n"
    "  --facts FILE         for job_submit/malleable (default $RINGRT_FACTS or /run/ringrt/facts)\n"
    "  --metrics ADDR:PORT  serve OpenMetrics at http://ADDR:PORT/metrics, on loopback (default: "
    "no)\n"
    "  --check              say whether the configuration is right, and end\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "\n"
    "Signals: SIGHUP reads the configuration again and opens the logs anew, SIGUSR1 opens its own\n"
    "log anew, SIGTERM and SIGINT end it. Exit status: 0 ended as asked; 1 failed; 2 something "
    "must\n"
    "be changed first: the command line, the configuration, the user, Slurm's version or\n"
    "SchedulerType. See ringrtd(8).\n";

}  // namespace

int usage_error(const std::string &what) {
    std::fprintf(stderr, "ringrtd: %s (see ringrtd --help)\n", what.c_str());
    return kWrong;
}

int parse_daemon_options(int argc, char **argv, DaemonOptions &options) {
    static const option kLong[] = {
        {"config", required_argument, nullptr, 'c'}, {"log-file", required_argument, nullptr, 'l'},
        {"facts", required_argument, nullptr, 'f'},  {"metrics", required_argument, nullptr, 'm'},
        {"check", no_argument, nullptr, 'k'},        {"version", no_argument, nullptr, 'V'},
        {"help", no_argument, nullptr, 'h'},         {}};
    if (const char *facts = std::getenv(kFactsVariable)) options.facts = facts;
    opterr = 0;
    for (int c = 0; (c = getopt_long(argc, argv, ":hV", kLong, nullptr)) != -1;) {
        const std::string value = optarg != nullptr ? optarg : "";
        switch (c) {
            case 'c':
                options.config = value;
                break;
            case 'l':
                options.log_file = value;
                break;
            case 'f':
                options.facts = value;
                break;
            case 'm':
                options.metrics = value;
                break;
            case 'k':
                options.check = true;
                break;
            case 'V':
                std::puts("ringrtd " PACKAGE_VERSION);
                return 0;
            case 'h':
                std::fputs(kHelp, stdout);
                return 0;
            case ':':
                return usage_error(std::string(argv[optind - 1]) + " needs a value");
            default:
                return usage_error("unknown option " + std::string(argv[optind - 1]));
        }
    }
    if (optind < argc)
        return usage_error("expected an option, got \"" + std::string(argv[optind]) + "\"");
    for (const std::string &path : {options.config, options.log_file, options.facts})
        if (!path.empty() && path.front() != '/')
            return usage_error("expected an absolute path, got \"" + path + "\"");
    return -1;
}

}  // namespace ringrt::slurm
