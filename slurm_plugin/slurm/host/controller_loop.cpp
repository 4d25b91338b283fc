// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/controller_loop.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <exception>
#include <optional>
#include <utility>

#include "slurm_plugin/controller/controller.h"
#include "slurm_plugin/records/unix_time.h"
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/host/diag.h"
#include "slurm_plugin/slurm/host/event_log.h"
#include "slurm_plugin/slurm/host/fenced_cluster.h"
#include "slurm_plugin/slurm/host/journal_file.h"
#include "slurm_plugin/slurm/host/metrics.h"
#include "slurm_plugin/slurm/host/slurm_paths.h"

namespace ringrt::slurm {
namespace {

using controller::Mode;

constexpr double kStartDelay_s = 1;     // slurmctld answers RPCs only some time after its start
constexpr double kAfterFailure_s = 30;  // until the controller restarts
constexpr double kDiagEvery_s = 5;
constexpr double kLookEvery_s = 5;  // while another host acts
constexpr double kSetBack_s = 5;    // the clock is set back by more than that: begin again
// With thousands of jobs, a pass takes tens of milliseconds. The pause after it is this many times
// as long, so that a resize under way does not take a core from slurmctld.
constexpr double kRestPerWork = 20;

// For pauses: the clock of unix_now_s() may be set.
double steady_now_s() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// CPU time used by this thread.
double thread_cpu_s() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

// For people, and for the next start of a controller.
class LoopEvents final : public controller::EventSink {
  public:
    LoopEvents(Log &host, const std::string &journal_path)
        : log(host), journal(host, journal_path) {}
    void write(const controller::Event &event) override {
        journal.write(event);
        log.write(event);
    }

    EventLog log;
    JournalFile journal;
};

void ControllerLoop::run() {
    double pause_s = kStartDelay_s;
    while (!is_over_ && host_.wait(pause_s)) {
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

// One life of the controller, and its working data.
struct ControllerLoop::Life {
    Life(Host &host, SlurmSetup found)
        : setup(std::move(found)), events(host, setup.paths.journal), fenced(cluster, host) {
        diag.started_s = unix_now_s();
        diag.api = &cluster.api_times();
    }

    SlurmSetup setup;
    LoopEvents events;
    SlurmCluster cluster;
    FencedCluster fenced;
    std::optional<controller::Controller> controller;  // none while another host acts
    controller::Observation seen;                      // used then
    bool has_read = false;                             // options_ were read
    Diag diag;
    double diag_due_s = 0, explain_due_s = 0;
};

void ControllerLoop::serve() {
    std::optional<SlurmSetup> setup;
    double pause_s = 1;
    for (std::string error; !(setup = ask_slurm_setup(&error));) {
        host_.unreachable(error);
        if (!host_.wait(pause_s)) return;
        pause_s = std::min(2 * pause_s, host_.retry_every_s());
        (void)host_.take_reload();  // would end each wait at once; all is read below anyway
    }
    if (!host_.yaml().empty()) setup->paths.yaml = host_.yaml();
    Life life(host_, std::move(*setup));
    for (Duty duty; (duty = host_.duty(life.setup)) != Duty::end;) {
        if (is_clock_set_back(life)) return acts_since_s_.reset();
        if (duty == Duty::act) {
            if (host_.take_restart()) {
                life.controller.reset();
                acts_since_s_.reset();
            }
            if (host_.take_reload() || !life.has_read || !life.controller) begin(life);
            pause_s = pass(life);
        } else {
            if (host_.take_reload() || !life.has_read) read_options(life);
            pause_s = stand_by(life);
        }
        if (!rest(life, duty, pause_s)) return;
    }
    is_over_ = true;
}

void ControllerLoop::read_options(Life &life) {
    options_ = accepted_.read(life.setup.paths.yaml, life.setup.paths.last_good, host_);
    std::string error;  // AuthInfo may have changed since the start
    if (const auto setup = ask_slurm_setup(&error))
        life.setup.requeue_hold_s = setup->requeue_hold_s;
    options_.controller.requeue_hold_s = life.setup.requeue_hold_s;
    life.has_read = true;
    life.diag.refusal = accepted_.refusal();
    life.diag.refused_since_s = accepted_.refused_since_s();
    life.diag_due_s = life.explain_due_s = 0;
}

// At the start, when another host has stopped acting, and at a reload.
void ControllerLoop::begin(Life &life) {
    const SlurmPaths &paths = life.setup.paths;
    read_options(life);
    life.events.log.open(options_.event_log.empty() ? paths.event_log : options_.event_log);
    if (life.controller) {
        life.controller->set_options(options_.controller);
    } else {
        life.controller.emplace(life.fenced, life.events, options_.controller);
        if (!acts_since_s_) acts_since_s_ = unix_now_s();
        controller::Journal journal = life.events.journal.read();
        journal.continues = host_.take_reconfigured();
        life.controller->restore(std::move(journal), acts_since_s_);
    }
    life.diag.options = &life.controller->options();
    life.diag.statistics = &life.controller->statistics();
    const std::string mode = controller::get_parameter(options_.controller, "mode");
    const std::string policy = controller::get_parameter(options_.controller, "policy");
    host_.info("mode " + mode + ", policy " + policy + " (" + paths.yaml + ")");
}

// What was put off until a time by the old clock would wait as much longer, and Slurm reports no
// changes since then. A new life knows no times.
bool ControllerLoop::is_clock_set_back(const Life &life) {
    const double back_s = life.diag.time_s - unix_now_s();
    if (back_s < kSetBack_s) return false;
    host_.info("the clock was set back by " + std::to_string(std::lround(back_s)) +
               " s: the controller begins again in " +
               std::to_string(std::lround(kAfterFailure_s)) + " s");
    return true;
}

// Returns the seconds until the next pass is due.
double ControllerLoop::pass(Life &life) {
    Diag &diag = life.diag;
    const double began_s = unix_now_s(), began_cpu_s = thread_cpu_s();
    if (options_.controller.mode == Mode::detach) publish(life);  // also before the first pass
    const double next_s = life.controller->pass(began_s);
    diag.time_s = unix_now_s();
    diag.passes.add((diag.time_s - began_s) * 1000);
    // After a failure, the report shows why.
    const bool pauses = next_s - diag.time_s > kDiagEvery_s;
    if (diag.time_s >= life.diag_due_s || pauses) {
        // For people: a failure is not logged.
        (void)write_diag(life.setup.paths.diag, to_json(diag));
        write_metrics(diag);
        host_.account(diag);
        life.diag_due_s = diag.time_s + kDiagEvery_s;
    }
    write_explanations(life, began_s);
    publish(life);
    const double rest_s =
        std::min(kRestPerWork * (thread_cpu_s() - began_cpu_s), options_.controller.idle_poll_s);
    return std::max(next_s - diag.time_s, rest_s);
}

// A pass that found nothing new has no explanations: those of the last pass that had some stay.
void ControllerLoop::write_explanations(Life &life, double now_s) {
    if (now_s < life.explain_due_s) return;
    const auto explanations = life.controller->explanations();
    if (!explanations) return;
    const std::string json = to_json(*explanations, options_.controller, now_s);
    (void)write_diag(life.setup.paths.explain, json);  // for people: a failure is not logged
    life.explain_due_s = now_s + kDiagEvery_s;
}

// Another host acts, but jobs are also submitted here.
double ControllerLoop::stand_by(Life &life) {
    life.controller.reset();
    acts_since_s_.reset();
    life.diag.options = nullptr;
    if (life.cluster.observe(life.seen) == controller::RpcStatus::ok) publish(life);
    return kLookEvery_s;
}

void ControllerLoop::publish(const Life &life) {
    const bool acts = options_.controller.mode == Mode::act;
    // A record that mode detach removes must not be restored.
    host_.publish(life.cluster, acts ? static_cast<int>(options_.controller.submit_hold_s) : 0,
                  options_.controller.mode != Mode::detach);
}

// Waits that long, or until a reload or another duty. False: stop.
bool ControllerLoop::rest(const Life &life, Duty duty, double pause_s) {
    const double until_s = steady_now_s() + pause_s;
    for (;;) {
        const double left_s = until_s - steady_now_s(), every_s = host_.duty_every_s();
        if (!host_.wait(std::min(left_s, every_s))) return false;
        if (left_s <= every_s || host_.is_reload_due()) return true;
        if (host_.duty(life.setup) != duty) return true;
    }
}

}  // namespace ringrt::slurm
