// SPDX-License-Identifier: BSD-3-Clause
// ringrt-check: reports what does not fit before slurmctld starts.
//
// It reads files only: it queries neither slurmctld nor libslurm nor any other program.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include "slurm_plugin/slurm/base/option_table.h"
#include "tools/ringrt-check/report.h"

namespace ringrt::check {
namespace {

constexpr int kFits = 0, kDoesNotFit = 1;
constexpr unsigned kLimit_s = 20;  // below any TimeoutStartSec
constexpr char kConfigless[] = "/run/slurm/conf/slurm.conf";

struct Options {
    bool node = false, json = false, quiet = false;
    std::string conf;
    Host host = Host::find_out;
};

std::string set_host(const std::string &text, Options &out) {
    if (text != "plugin" && text != "daemon")
        return "expected plugin or daemon, got \"" + text + "\"";
    out.host = text == "plugin" ? Host::plugin : Host::daemon;
    return {};
}

// Returns an exit status if the program must end.
std::optional<int> parse(int argc, char **argv, Options &out) {
    const auto flag = [](bool &set) {
        return [&set](const std::string &) { return set = true, std::string(); };
    };
    const auto conf = [&out](const std::string &value) { return out.conf = value, std::string(); };
    const auto host = [&out](const std::string &value) { return set_host(value, out); };
    return parse_options(
        argc, argv,
        {.program = "ringrt-check",
         .about = "Checks that Slurm, the plugins of ringrt, slurm.conf, malleable.yaml and\n"
                  "plugstack.conf fit together. Reads files only; slurmctld need not run.",
         .below = "exit status: 0 everything fits; 1 something does not fit: slurmctld would not\n"
                  "start, or no job would be resized; 2 usage",
         .options = {
             {"node", 0, nullptr, "check a login or compute node; without it: slurmctld's\nhost",
              flag(out.node)},
             {"conf", 0, "FILE",
              "slurm.conf; default: $SLURM_CONF, else\n" RINGRT_SLURM_CONF ",\nwith --node also " +
                  std::string(kConfigless),
              conf},
             {"host", 0, "plugin|daemon",
              "which controller the site uses: sched/doubling or\nringrtd (default: ringrtd if its "
              "unit is enabled\nhere)",
              host},
             {"json", 0, nullptr, "JSON instead of lines", flag(out.json)},
             {"quiet", 'q', nullptr, "show only errors and warnings", flag(out.quiet)}}});
}

std::string conf_path(const Options &options) {
    if (!options.conf.empty()) return options.conf;
    if (const char *named = std::getenv("SLURM_CONF"); named != nullptr && *named != '\0')
        return named;
    if (options.node && access(RINGRT_SLURM_CONF, R_OK) != 0 && access(kConfigless, R_OK) == 0)
        return kConfigless;
    return RINGRT_SLURM_CONF;
}

// A file system that does not answer must not prevent slurmctld's start.
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
