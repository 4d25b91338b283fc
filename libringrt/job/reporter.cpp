// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/reporter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "libringrt/base/child_process.h"
#include "libringrt/base/clock.h"
#include "libringrt/base/status.h"
#include "libringrt/base/thread.h"

namespace ringrt::job {
namespace {

// The first reports come closer together, because the first step times are few and rough.
constexpr int kEarlyReports = 3;
constexpr double kEarlyInterval_s = 5;

}  // namespace

std::string comment_in(const std::string &output) {
    constexpr const char *key = "\n   Comment=";
    size_t at = output.find(key);
    if (at == output.npos) return {};
    at += strlen(key);
    std::string comment = output.substr(at, output.find('\n', at) - at);
    return comment.erase(comment.find_last_not_of(' ') + 1);  // scontrol appends a blank
}

Reporter::Reporter(ReporterOptions options) : options_(std::move(options)) {
    thread_ = start_thread(
        [this] { loop(); },
        [](ringrt_status_t, const char *what) {
            log_line(std::string("telemetry: no more reports to the scheduler: ") + what);
        });
}

Reporter::~Reporter() {
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Reporter::update(const records::Telemetry &telemetry) {
    std::lock_guard lock(mutex_);
    latest_ = telemetry;
    fresh_ = true;
    if (due(monotonic_s())) changed_.notify_all();
}

void Reporter::report_soon() {
    std::lock_guard lock(mutex_);
    soon_ = true;
    changed_.notify_all();
}

// Call with the lock held. The first report and the first speed must reach the scheduler at once.
bool Reporter::due(double now_s) const {
    if (!fresh_) return false;
    if (latest_.gpus != reported_.gpus) return true;  // resized in place
    const bool first_speed = latest_.step_ms > 0 && reported_.step_ms == 0;
    const double interval_s = reports_ <= kEarlyReports
                                  ? std::min(kEarlyInterval_s, options_.interval_s)
                                  : options_.interval_s;
    return soon_ || first_speed || now_s - reported_at_s_ >= interval_s;
}

void Reporter::loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (!due(monotonic_s())) {
            changed_.wait_for(lock, std::chrono::seconds(1));
            continue;
        }
        records::Telemetry telemetry = latest_;
        fresh_ = soon_ = false;
        reported_ = telemetry;
        reported_at_s_ = monotonic_s();
        ++reports_;
        lock.unlock();
        report(telemetry);
        lock.lock();
    }
}

void Reporter::report(const records::Telemetry &telemetry) {
    std::string why;
    bool good = options_.file.empty() || report_to_file(telemetry, why);
    good = (options_.job.empty() || report_to_slurm(telemetry, why)) && good;
    if (good || complained_) return;
    complained_ = true;
    std::lock_guard lock(mutex_);
    if (!stopping_)
        log_line("telemetry: cannot report to the scheduler (" + why +
                 "): training continues without reports");
}

bool Reporter::report_to_slurm(const records::Telemetry &telemetry, std::string &why) {
    if (options_.channel != nullptr && options_.channel->send_telemetry(telemetry)) return true;
    // Read each time: the user may change the Comment while the job runs.
    std::string shown;
    if (!run_until_stopped({options_.scontrol, "show", "job", options_.job}, shown)) {
        why = shown;
        return false;
    }
    return run_until_stopped({options_.scontrol, "update", "JobId=" + options_.job,
                              "Comment=" + records::format_into(comment_in(shown), telemetry)},
                             why);
}

bool Reporter::report_to_file(const records::Telemetry &telemetry, std::string &why) {
    const std::string fresh = options_.file + ".new";
    const std::string line = records::format_telemetry(telemetry) + "\n";
    int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (fd >= 0) close(fd);
    good = good && rename(fresh.c_str(), options_.file.c_str()) == 0;
    if (!good) why = options_.file + ": " + strerror(errno);
    return good;
}

bool Reporter::run_until_stopped(const std::vector<std::string> &argv, std::string &output) {
    Command command;
    command.start(argv, options_.command_timeout_s);
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        std::optional<CommandResult> result = command.poll();
        if (result) {
            output = result->output.substr(0, result->output.find('\n'));
            if (output.empty())
                output = argv.front() + ": exit status " + std::to_string(result->exit_code);
            if (result->exit_code == 0) output = result->output;
            return result->exit_code == 0;
        }
        changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return false;  // the destructor kills the command
}

}  // namespace ringrt::job
