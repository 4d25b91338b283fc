// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/controller_loop.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <exception>
#include <optional>

#include "slurm_plugin/controller/controller.h"
#include "slurm_plugin/slurm/diag.h"
#include "slurm_plugin/slurm/event_log.h"
#include "slurm_plugin/slurm/metrics.h"
#include "slurm_plugin/slurm/recent_events.h"
#include "slurm_plugin/slurm/slurm_cluster.h"
#include "slurm_plugin/slurm/slurm_paths.h"

namespace ringrt::slurm {
namespace {

using controller::Mode;

constexpr double kStartDelay_s = 1;     // slurmctld answers RPCs only some time after its start
constexpr double kAfterFailure_s = 30;  // until the controller is started afresh
constexpr double kDiagEvery_s = 5;
// With thousands of jobs a pass takes tens of milliseconds: after it this many times as long is
// rested, so that a resize under way does not take a core from slurmctld.
constexpr double kRestPerWork = 20;

double unix_now_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// Processor time that this thread has taken.
double thread_cpu_s() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// For people, and for the next start of a controller.
class Events final : public controller::EventSink {
  public:
    Events(Log &host, const std::string &recent_path) : log(host), recent(host, recent_path) {}
    void write(const controller::Event &event) override {
        recent.write(event);
        log.write(event);
    }

    EventLog log;
    RecentEvents recent;
};

}  // namespace

void ControllerLoop::run() {
    double pause_s = kStartDelay_s;
    while (host_.wait(pause_s)) {
        pause_s = kAfterFailure_s;
        const std::string seconds = std::to_string(std::lround(kAfterFailure_s)) + " s";
        try {
            serve();
        } catch (const std::exception &error) {
            host_.error(error.what() + ("; no resizes for " + seconds));
        } catch (...) {
            host_.error("unknown failure; no resizes for " + seconds);
        }
    }
}

void ControllerLoop::write_metrics(const Diag &diag) {
    const std::string &path = options_.metrics_file;
    if (path.empty()) return;
    const bool failed = !write_diag(path, to_metrics(diag, Exposition::prometheus));
    if (failed && !metrics_failed_)
        host_.error("cannot write the metrics file " + path + ": " + std::strerror(errno));
    metrics_failed_ = failed;
}

void ControllerLoop::serve() {
    std::optional<SlurmPaths> paths;
    while (!(paths = ask_slurm_paths())) {
        if (!host_.wait(1)) return;
        (void)host_.take_reload();  // else it ends each wait at once; all is read below anyway
    }
    Events events(host_, paths->recent);
    SlurmCluster cluster;
    std::optional<controller::Controller> controller;
    Diag diag{.started_s = unix_now_s(), .api = &cluster.api_times()};
    double diag_due_s = 0;
    for (;;) {
        if (host_.take_reload() || !controller) {
            options_ = accepted_.read(paths->yaml, paths->last_good, host_);
            events.log.open(options_.event_log.empty() ? paths->event_log : options_.event_log);
            if (controller) {
                controller->set_options(options_.controller);
            } else {
                controller.emplace(cluster, events, options_.controller);
                controller->remember(controller::past_of(events.recent.read()));
            }
            diag.refusal = accepted_.refusal();
            diag.refused_since_s = accepted_.refused_since_s();
            diag_due_s = 0;
            diag.options = &controller->options();
            diag.statistics = &controller->statistics();
            const std::string mode = controller::get_parameter(options_.controller, "mode");
            const std::string policy = controller::get_parameter(options_.controller, "policy");
            host_.info("mode " + mode + ", policy " + policy + " (" + paths->yaml + ")");
        }
        const double began_s = unix_now_s(), began_cpu_s = thread_cpu_s();
        const double next_s = controller->pass(began_s);
        diag.time_s = unix_now_s();
        diag.passes.add((diag.time_s - began_s) * 1000);
        const bool pauses =
            next_s - diag.time_s > kDiagEvery_s;  // after a failure: why stands there
        if (diag.time_s >= diag_due_s || pauses) {
            (void)write_diag(paths->diag, to_json(diag));  // for people only: not worth a word
            write_metrics(diag);
            host_.account(diag);
            diag_due_s = diag.time_s + kDiagEvery_s;
        }
        const bool acts = options_.controller.mode == Mode::act;
        host_.publish(cluster, acts ? static_cast<int>(options_.controller.submit_hold_s) : 0);
        const double rest_s = std::min(kRestPerWork * (thread_cpu_s() - began_cpu_s),
                                       options_.controller.idle_poll_s);
        if (!host_.wait(std::max(next_s - unix_now_s(), rest_s))) return;
    }
}

}  // namespace ringrt::slurm
