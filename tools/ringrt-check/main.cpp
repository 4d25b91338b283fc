// SPDX-License-Identifier: BSD-3-Clause
// ringrt-check: says what does not fit before slurmctld starts.
//
// It reads files only: no slurmctld, no libslurm, no other program is asked.
#include <getopt.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "build_config.h"
#include "tools/ringrt-check/report.h"

namespace ringrt::check {
namespace {

constexpr int kFits = 0, kDoesNotFit = 1, kUsage = 2;
constexpr unsigned kLimit_s = 20;  // below any TimeoutStartSec
constexpr char kConfigless[] = "/run/slurm/conf/slurm.conf";

constexpr char kHelp[] =
    R"(Usage: ringrt-check [OPTION...]
Says what does not fit together: Slurm, the plugins of ringrt, slurm.conf,
malleable.yaml, plugstack.conf. Reads files only; slurmctld need not run.

  --node            check a login or compute node; without it: slurmctld's host
  --conf FILE       slurm.conf; default: $SLURM_CONF, else
                    )" RINGRT_SLURM_CONF R"(,
                    with --node also /run/slurm/conf/slurm.conf
  --host plugin|daemon
                    which controller the site wants: sched/doubling or ringrtd
                    (default: ringrtd where its unit is enabled here)
  --json            JSON instead of lines
  -q, --quiet       only what is wrong, and warnings
  -V, --version     the version
  -h, --help        this text

exit status: 0 it fits; 1 something does not fit: slurmctld would not start, or
nothing would be resized; 2 usage
)";

struct Options {
    bool node = false, json = false, quiet = false;
    std::string conf;
    Host host = Host::find_out;
};

int usage(const std::string &what) {
    std::fprintf(stderr, "ringrt-check: %s (see ringrt-check --help)\n", what.c_str());
    return kUsage;
}

bool set_host(const char *text, Options &out) {
    if (std::strcmp(text, "plugin") == 0)
        out.host = Host::plugin;
    else if (std::strcmp(text, "daemon") == 0)
        out.host = Host::daemon;
    else
        return false;
    return true;
}

// An exit status where there is nothing more to do.
std::optional<int> parse(int argc, char **argv, Options &out) {
    static const option kOptions[] = {
        {"node", no_argument, nullptr, 'n'},       {"conf", required_argument, nullptr, 'c'},
        {"host", required_argument, nullptr, 'o'}, {"json", no_argument, nullptr, 'j'},
        {"quiet", no_argument, nullptr, 'q'},      {"version", no_argument, nullptr, 'V'},
        {"help", no_argument, nullptr, 'h'},       {}};
    opterr = 0;
    for (int c = 0; (c = getopt_long(argc, argv, ":qVh", kOptions, nullptr)) != -1;) {
        if (c == 'n') out.node = true;
        if (c == 'c') out.conf = optarg;
        if (c == 'j') out.json = true;
        if (c == 'q') out.quiet = true;
        if (c == 'o' && !set_host(optarg, out))
            return usage(std::string("--host: expected plugin or daemon, got \"") + optarg + "\"");
        if (c == 'V') return std::puts("ringrt-check " PACKAGE_VERSION) >= 0 ? kFits : kDoesNotFit;
        if (c == 'h') return std::fputs(kHelp, stdout) >= 0 ? kFits : kDoesNotFit;
        if (c == ':') return usage(std::string(argv[optind - 1]) + " needs a value");
        if (c == '?') return usage(std::string("unknown option ") + argv[optind - 1]);
    }
    if (optind < argc) return usage(std::string("unexpected argument ") + argv[optind]);
    return std::nullopt;
}

std::string conf_path(const Options &options) {
    if (!options.conf.empty()) return options.conf;
    if (const char *named = std::getenv("SLURM_CONF"); named != nullptr && *named != '\0')
        return named;
    if (options.node && access(RINGRT_SLURM_CONF, R_OK) != 0 && access(kConfigless, R_OK) == 0)
        return kConfigless;
    return RINGRT_SLURM_CONF;
}

// A file system that does not answer must not keep slurmctld from starting.
void watch_time() {
    std::signal(SIGALRM, [](int) {
        constexpr char kText[] = "ringrt-check: a file system did not answer within 20 s\n";
        (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
        _exit(kDoesNotFit);
    });
    alarm(kLimit_s);
}

int run(const Options &options) {
    watch_time();
    const Site site = survey(conf_path(options), RINGRT_SLURM_PLUGIN_DIR, options.host);
    const auto findings = options.node ? check_node(site) : check_controller(site);
    const std::string text = options.json
                                 ? report_json(site, options.node ? "node" : "controller", findings)
                                 : report_text(findings, options.quiet);
    std::fputs(text.c_str(), stdout);
    return std::fflush(stdout) == 0 && fits(findings) ? kFits : kDoesNotFit;
}

}  // namespace
}  // namespace ringrt::check

int main(int argc, char **argv) {
    using namespace ringrt::check;
    try {
        Options options;
        if (const auto status = parse(argc, argv, options)) return *status;
        return run(options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ringrt-check: %s\n", error.what());
        return kDoesNotFit;
    }
}
