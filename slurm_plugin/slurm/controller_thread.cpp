// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/controller_thread.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <optional>

#include "slurm_plugin/controller/controller.h"
#include "slurm_plugin/slurm/diag.h"
#include "slurm_plugin/slurm/event_log.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "slurm_plugin/slurm/slurm_paths.h"

namespace ringrt::slurm {
namespace {

using controller::Mode;

constexpr double kStartDelay_s = 1;     // slurmctld answers RPCs only some time after it loads us
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

// Rewritten whole: a torn copy is one more bad file, and that is no harm.
void keep_copy(const std::string &from, const std::string &to) {
    std::ifstream in(from, std::ios::binary);
    if (!in) {
        std::remove(to.c_str());
        return;
    }
    std::ofstream(to + ".new", std::ios::binary) << in.rdbuf();
    std::rename((to + ".new").c_str(), to.c_str());
}

}  // namespace

bool ControllerThread::start() {
    // Signals are slurmctld's business: none is delivered here.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread_, nullptr, main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (started) pthread_setname_np(thread_, "sched_doubling");
    return started;
}

bool ControllerThread::stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    const bool ended = changed_.wait_for(lock, kStopWait, [this] { return ended_; });
    lock.unlock();
    if (ended)
        pthread_join(thread_, nullptr);
    else
        pthread_detach(thread_);
    return ended;
}

void ControllerThread::reload() {
    const std::scoped_lock lock(mutex_);
    reload_ = true;
    changed_.notify_all();
}

bool ControllerThread::take_reload() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(reload_, false);
}

bool ControllerThread::wait(double seconds) {
    std::unique_lock lock(mutex_);
    const auto time = std::chrono::duration<double>(std::clamp(seconds, 0.001, 3600.0));
    changed_.wait_for(lock, time, [this] { return stopping_ || reload_; });
    return !stopping_;
}

void *ControllerThread::main(void *self) noexcept {
    auto *thread = static_cast<ControllerThread *>(self);
    try {
        thread->run();
    } catch (...) {
        slurm_error("sched/doubling: the controller has ended; jobs keep their sizes");
    }
    const std::scoped_lock lock(thread->mutex_);
    thread->ended_ = true;
    thread->changed_.notify_all();
    return nullptr;
}

// Whatever is thrown, Slurm goes on as without us, and the controller is tried again later: all it
// needs to know stands in the job records.
void ControllerThread::run() {
    double pause_s = kStartDelay_s;
    while (wait(pause_s)) {
        pause_s = kAfterFailure_s;
        try {
            serve();
        } catch (const std::exception &error) {
            slurm_error("sched/doubling: %s; no resizes for %.0f s", error.what(), pause_s);
        } catch (...) {
            slurm_error("sched/doubling: unknown failure; no resizes for %.0f s", pause_s);
        }
    }
}

// The file; else what was accepted before, in this process or by an earlier slurmctld; else nothing
// is done until the file is mended.
PluginOptions ControllerThread::accepted_options(const std::string &yaml,
                                                 const std::string &last_good) {
    const auto read = read_yaml(yaml);
    if (const auto *options = std::get_if<PluginOptions>(&read)) {
        keep_copy(yaml, last_good);
        have_options_ = true;
        return *options;
    }
    const std::string &message = std::get<YamlError>(read).message;
    if (have_options_) {
        slurm_error("sched/doubling: %s; the configuration read before stays", message.c_str());
        return options_;
    }
    const auto before = read_yaml(last_good);
    const bool copy_is_there = std::ifstream(last_good).good();
    if (const auto *options = std::get_if<PluginOptions>(&before);
        options != nullptr && copy_is_there) {
        slurm_error("sched/doubling: %s; the configuration accepted last stays (%s)",
                    message.c_str(), last_good.c_str());
        have_options_ = true;
        return *options;
    }
    slurm_error(
        "sched/doubling: %s; nothing is resized until it is mended (then: scontrol reconfigure)",
        message.c_str());
    PluginOptions off;
    off.controller.mode = Mode::off;
    return off;
}

void ControllerThread::serve() {
    std::optional<SlurmPaths> paths;
    while (!(paths = ask_slurm_paths())) {
        if (!wait(1)) return;
        (void)take_reload();  // else it ends each wait at once; all is read below anyway
    }
    EventLog events;
    SlurmCluster cluster;
    std::optional<controller::Controller> controller;
    Diag diag{.started_s = unix_now_s(), .api = &cluster.api_times()};
    double diag_due_s = 0;
    for (;;) {
        if (take_reload() || !controller) {
            options_ = accepted_options(paths->yaml, paths->last_good);
            events.open(options_.event_log.empty() ? paths->event_log : options_.event_log);
            if (controller) {
                controller->set_options(options_.controller);
            } else {
                controller.emplace(cluster, events, options_.controller);
                controller->remember(controller::past_of(events.tail()));
            }
            diag.options = &controller->options();
            diag.statistics = &controller->statistics();
            const std::string mode = controller::get_parameter(options_.controller, "mode");
            const std::string policy = controller::get_parameter(options_.controller, "policy");
            slurm_info("sched/doubling: mode %s, policy %s (%s)", mode.c_str(), policy.c_str(),
                       paths->yaml.c_str());
        }
        const double began_s = unix_now_s(), began_cpu_s = thread_cpu_s();
        const double next_s = controller->pass(began_s);
        diag.time_s = unix_now_s();
        diag.passes.add((diag.time_s - began_s) * 1000);
        const bool pauses =
            next_s - diag.time_s > kDiagEvery_s;  // after a failure: why stands there
        if (diag.time_s >= diag_due_s || pauses) {
            (void)write_diag(paths->diag, to_json(diag));  // for people only: not worth a word
            diag_due_s = diag.time_s + kDiagEvery_s;
        }
        const bool acts = options_.controller.mode == Mode::act;
        facts_.publish(cluster, acts ? static_cast<int>(options_.controller.submit_hold_s) : 0);
        const double rest_s = std::min(kRestPerWork * (thread_cpu_s() - began_cpu_s),
                                       options_.controller.idle_poll_s);
        if (!wait(std::max(next_s - unix_now_s(), rest_s))) return;
    }
}

}  // namespace ringrt::slurm
