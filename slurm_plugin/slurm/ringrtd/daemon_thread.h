// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon as a host of the controller. It acts while it holds the lease and slurmctld's
// scheduler is not sched/doubling. It publishes the facts for job_submit/malleable in a file.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "slurm_plugin/slurm/host/controller_thread.h"
#include "slurm_plugin/slurm/host/facts_file.h"
#include "slurm_plugin/slurm/ringrtd/daemon_log.h"
#include "slurm_plugin/slurm/ringrtd/daemon_options.h"
#include "slurm_plugin/slurm/ringrtd/lease.h"
#include "slurm_plugin/slurm/ringrtd/lease_file.h"
#include "slurm_plugin/slurm/ringrtd/metrics_server.h"

namespace ringrt::slurm {

// Why this daemon must not run with that slurmctld, in one line; empty: it may run.
[[nodiscard]] std::string why_incompatible(const SlurmSetup &setup, uint32_t user_id);

class DaemonThread final : public ControllerThread {
  public:
    DaemonThread(const DaemonOptions &options, DaemonLog &log, MetricsServer &metrics);

    void info(const std::string &line) override { log_.info(line); }
    void error(const std::string &line) override { log_.error(line); }
    [[nodiscard]] std::string_view reload_command() const override {
        return "systemctl reload ringrtd";
    }
    [[nodiscard]] std::string yaml() const override { return options_.config; }
    [[nodiscard]] Duty duty(const SlurmSetup &setup) override;
    [[nodiscard]] double duty_every_s() const override { return 1; }
    [[nodiscard]] bool take_restart() override { return std::exchange(restarted_, false); }
    [[nodiscard]] bool may_act() const override;
    void unreachable(const std::string &why) override;
    [[nodiscard]] double retry_every_s() const override { return 10; }
    void publish(const SlurmCluster &cluster, int hold_s, bool keeps_records) override;
    void account(const Diag &diag) override;

    // Call after the thread has stopped: another daemon may then act at once.
    void release();
    [[nodiscard]] double last_beat_s() const { return beat_s_; }
    [[nodiscard]] bool has_failed() const { return failed_; }

  private:
    void ended() override;
    bool fits(const SlurmSetup &setup);
    bool lease_step();
    void log_lease_state();
    void refresh_facts();

    const DaemonOptions &options_;
    DaemonLog &log_;
    MetricsServer &metrics_;
    std::unique_ptr<Lease> lease_;
    std::unique_ptr<LeaseFile> leases_;
    std::string said_, lease_error_;
    SubmitFacts facts_;
    uint64_t intents_version_ = 0;
    bool keeps_records_ = true;
    double asked_s_ = 0;
    int64_t boot_s_ = 0;      // slurmctld's start, as last reported
    int64_t read_s_ = 0;      // when it read slurm.conf, as last reported
    bool restarted_ = false;  // since take_restart()
    bool was_unreachable_ = false, facts_failed_ = false;
    std::atomic<double> beat_s_;
    std::atomic<bool> failed_ = false;
};

}  // namespace ringrt::slurm
