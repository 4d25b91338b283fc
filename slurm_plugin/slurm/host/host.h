// SPDX-License-Identifier: GPL-2.0-or-later
// The host of the controller: a thread inside slurmctld (sched/doubling), or the daemon ringrtd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ringrt::slurm {

class SlurmCluster;
struct Diag;
struct SlurmSetup;

// act: run the controller. stand_by: another host runs it; only observe. end: stop permanently.
enum class Duty : uint8_t { act, stand_by, end };

// Takes one line per call, without a newline. The host adds its own name in front.
class Log {
  public:
    virtual ~Log() = default;
    virtual void info(const std::string &line) = 0;
    virtual void error(const std::string &line) = 0;
};

// The thread that runs the controller makes all calls.
class Host : public Log {
  public:
    // False: stop. Returns early if there is something to reload.
    [[nodiscard]] virtual bool wait(double seconds) = 0;
    // Whether to reopen malleable.yaml and the event log. True once per reload.
    [[nodiscard]] virtual bool take_reload() = 0;
    [[nodiscard]] virtual bool is_reload_due() = 0;
    // The administrator's command to reload malleable.yaml.
    [[nodiscard]] virtual std::string_view reload_command() const = 0;
    // The file to read; empty: malleable.yaml next to slurm.conf.
    [[nodiscard]] virtual std::string yaml() const { return {}; }

    // Called before each pass and, between passes, every duty_every_s().
    [[nodiscard]] virtual Duty duty(const SlurmSetup &) { return Duty::act; }
    [[nodiscard]] virtual double duty_every_s() const { return 3600; }
    // Whether slurmctld restarted since the last call. It may have lost its last seconds, so the
    // controller begins as at its own start.
    [[nodiscard]] virtual bool take_restart() { return false; }
    // At the start: whether this slurmctld continues one that stopped for a reconfigure. True once.
    [[nodiscard]] virtual bool take_reconfigured() { return false; }
    // Called before every single change.
    [[nodiscard]] virtual bool may_act() const { return true; }
    // At the start, while slurmctld does not answer: the reason, in Slurm's words; the longest
    // wait.
    virtual void unreachable(const std::string &) {}
    [[nodiscard]] virtual double retry_every_s() const { return 1; }

    // After each observation: the facts for job_submit/malleable. hold_s: how long a new job waits
    // for the controller's decision; 0: it does not wait. keeps_records: a job's record survives an
    // administrator's new AdminComment.
    virtual void publish(const SlurmCluster &cluster, int hold_s, bool keeps_records) = 0;
    // Every few seconds: the report that is written for `ringstat diag`.
    virtual void account(const Diag &) {}
};

}  // namespace ringrt::slurm
