// SPDX-License-Identifier: GPL-2.0-or-later
// ringrtd: the controller of malleable jobs as a daemon outside slurmctld.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <variant>

#include "build_config.h"
#include "slurm_plugin/slurm/base/option_table.h"
#include "slurm_plugin/slurm/cluster/slurm_library.h"
#include "slurm_plugin/slurm/host/yaml_options.h"
#include "slurm_plugin/slurm/ringrtd/daemon_log.h"
#include "slurm_plugin/slurm/ringrtd/daemon_options.h"
#include "slurm_plugin/slurm/ringrtd/daemon_thread.h"
#include "slurm_plugin/slurm/ringrtd/metrics_server.h"
#include "slurm_plugin/slurm/ringrtd/service_notify.h"

namespace ringrt::slurm {
namespace {

constexpr std::chrono::seconds kEndWait{10};

// Works without Slurm: looks for malleable.yaml next to the slurm.conf that Slurm's programs would
// read.
int check(const DaemonOptions &options) {
    std::string path = options.config;
    if (path.empty()) {
        const char *conf = std::getenv("SLURM_CONF");
        const std::string beside = conf != nullptr ? conf : "/etc/slurm/slurm.conf";
        path = beside.substr(0, beside.rfind('/') + 1) + "malleable.yaml";
    }
    const auto read = read_yaml(path);
    if (const auto *error = std::get_if<YamlError>(&read)) {
        std::fprintf(stderr, "ringrtd: %s\n", error->message.c_str());
        return kWrong;
    }
    const auto &found = std::get<PluginOptions>(read).controller;
    std::printf("%s: mode %s, policy %s\n", path.c_str(),
                controller::get_parameter(found, "mode").c_str(),
                controller::get_parameter(found, "policy").c_str());
    return 0;
}

// Receives all signals; every other thread blocks them. Returns at SIGTERM or SIGINT.
void watch(DaemonThread &thread, DaemonLog &log, const sigset_t &signals) {
    const double limit_s = watchdog_s();
    double pinged_s = 0;
    for (;;) {
        const timespec second{.tv_sec = 1, .tv_nsec = 0};
        const int signal = sigtimedwait(&signals, nullptr, &second);
        if (signal == SIGTERM || signal == SIGINT) return;
        if (signal == SIGHUP || signal == SIGUSR1) log.reopen();
        if (signal == SIGHUP) thread.reload();
        // Only while passes make progress: systemd ends a daemon that hangs for long.
        const double now_s = boottime_s();
        if (limit_s > 0 && now_s - pinged_s >= limit_s / 4 &&
            now_s - thread.last_beat_s() < limit_s / 2) {
            notify_service("WATCHDOG=1");
            pinged_s = now_s;
        }
    }
}

int run(const DaemonOptions &options) {
    DaemonLog log;
    std::string error;
    if (!log.open(options.log_file, &error)) return usage_error("ringrtd", error);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    MetricsServer metrics;
    if (!options.metrics.empty() && !metrics.start(options.metrics, &error))
        return usage_error("ringrtd", error);
    init_slurm_library();
    // Never freed: its thread may be in a call to Slurm until the process ends.
    auto *thread = new DaemonThread(options, log, metrics);
    log.info("version " PACKAGE_VERSION " starts");
    if (!thread->start()) {
        log.error("cannot start a thread");
        return kFailed;
    }
    notify_service("READY=1");
    watch(*thread, log, signals);
    notify_service("STOPPING=1");
    const bool ended = thread->stop(kEndWait);
    if (ended) thread->release();
    const int status = thread->has_failed() ? kWrong : 0;
    log.info("ends");
    if (!ended) _exit(status);  // does not wait for a blocked call
    return status;
}

int guarded(int argc, char **argv) noexcept {
    try {
        DaemonOptions options;
        if (const auto status = parse_daemon_options(argc, argv, options)) return *status;
        return options.check ? check(options) : run(options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ringrtd: %s\n", error.what());
        return kFailed;
    }
}

}  // namespace
}  // namespace ringrt::slurm

int main(int argc, char **argv) { return ringrt::slurm::guarded(argc, argv); }
