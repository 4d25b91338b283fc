// SPDX-License-Identifier: GPL-2.0-or-later
// What runs the controller: a thread inside slurmctld (sched/doubling), or the daemon ringrtd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringrt::slurm {

class SlurmCluster;
struct Diag;
struct SlurmSetup;

// act: run the controller. stand_by: another one does; only look. end: stop for good.
enum class Duty : uint8_t { act, stand_by, end };

// One line each, without a newline; the host puts its own name before it.
class Log {
  public:
    virtual ~Log() = default;
    virtual void info(const std::string &line) = 0;
    virtual void error(const std::string &line) = 0;
};

// All of it is called by the thread that runs the controller.
class Host : public Log {
  public:
    // False: stop. Comes back early when there is something to read again.
    [[nodiscard]] virtual bool wait(double seconds) = 0;
    // malleable.yaml and the event log are to be opened again (said once).
    [[nodiscard]] virtual bool take_reload() = 0;
    [[nodiscard]] virtual bool is_reload_due() = 0;
    // What an administrator types to have malleable.yaml read again.
    [[nodiscard]] virtual std::string_view reload_command() const = 0;
    // The file to read; empty: malleable.yaml beside slurm.conf.
    [[nodiscard]] virtual std::string yaml() const { return {}; }

    // Asked before each pass and, between passes, every duty_every_s().
    [[nodiscard]] virtual Duty duty(const SlurmSetup &) { return Duty::act; }
    [[nodiscard]] virtual double duty_every_s() const { return 3600; }
    // slurmctld was started anew since this was last asked. It may have forgotten its last seconds,
    // so the controller begins as it does at its own start.
    [[nodiscard]] virtual bool take_restart() { return false; }
    // At the start: this slurmctld goes on where one has stopped that was told to read slurm.conf
    // anew (said once).
    [[nodiscard]] virtual bool take_reconfigured() { return false; }
    // Asked before each single change.
    [[nodiscard]] virtual bool may_act() const { return true; }
    // At the start, while slurmctld does not answer: why, in Slurm's words; how long to wait at
    // most.
    virtual void unreachable(const std::string &) {}
    [[nodiscard]] virtual double retry_every_s() const { return 1; }

    // After each observation: what job_submit/malleable may know. hold_s: how long a new job waits
    // for the controller's decision; 0: it does not wait. keeps_records: a job's record outlives an
    // administrator's new AdminComment.
    virtual void publish(const SlurmCluster &cluster, int hold_s, bool keeps_records) = 0;
    // Every few seconds: the account that is written for `ringstat diag`.
    virtual void account(const Diag &) {}
};

}  // namespace ringrt::slurm
