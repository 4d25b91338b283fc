// SPDX-License-Identifier: BSD-3-Clause
// Reports the job's state to the scheduler, on its own thread: over the channel, or otherwise with
// `scontrol update` into the job's Comment, after the user's own text. It can also write a file for
// tests. Training never waits for it. Only the first failure is logged.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libringrt/job/channel.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::job {

struct ReporterOptions {
    std::string job;  // as scontrol names it; empty: no Comment
    std::string scontrol = "scontrol";
    Channel *channel = nullptr;  // outlives the reporter
    std::string file;            // empty: none; otherwise replaced at each report
    double interval_s = 30;      // at least, except for the first few reports
    double command_timeout_s = 10;
};

class Reporter {
  public:
    explicit Reporter(ReporterOptions options);
    ~Reporter();  // stops a report under way; waits only for its kill
    Reporter(const Reporter &) = delete;
    Reporter &operator=(const Reporter &) = delete;

    // Stores the newest state; cheap.
    void update(const records::Telemetry &telemetry);

    // Reports the newest state without waiting for the interval.
    void report_soon();

  private:
    void loop();
    bool due(double now_s) const;
    void report(const records::Telemetry &telemetry);
    bool report_to_slurm(const records::Telemetry &telemetry, std::string &why);
    bool report_to_file(const records::Telemetry &telemetry, std::string &why);
    bool run_until_stopped(const std::vector<std::string> &argv, std::string &output);

    const ReporterOptions options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    bool soon_ = false;
    bool fresh_ = false;  // latest_ has not been reported
    records::Telemetry latest_;
    records::Telemetry reported_;
    double reported_at_s_ = -1e9;
    int reports_ = 0;
    bool complained_ = false;
    std::thread thread_;  // last: starts when all other members exist
};

// The user's Comment in the output of `scontrol show job`; empty if there is none.
[[nodiscard]] std::string comment_in(const std::string &show_job_output);

}  // namespace ringrt::job
