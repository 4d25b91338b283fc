// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/daemon_thread.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/host/diag.h"
#include "slurm_plugin/slurm/host/known_intents.h"
#include "slurm_plugin/slurm/host/metrics.h"
#include "slurm_plugin/slurm/host/slurm_paths.h"
#include "slurm_plugin/slurm/ringrtd/service_notify.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {
namespace {

constexpr double kAskEvery_s = 1;    // whether slurmctld is still the same
constexpr double kFactsEvery_s = 5;  // facts are stale after kFactsMaxAge_s
constexpr char kSilent[] = "slurmctld does not answer";
constexpr char kDoubling[] = "sched/doubling";

// 24.11.5 -> 24.11
std::string release_of(const std::string &version) {
    const std::size_t dot = version.find('.');
    return version.substr(0, dot == std::string::npos ? dot : version.find('.', dot + 1));
}

std::string own_release() {
    char text[16];
    std::snprintf(text, sizeof text, "%d.%02d", SLURM_VERSION_NUMBER >> 16 & 0xff,
                  SLURM_VERSION_NUMBER >> 8 & 0xff);
    return text;
}

LeaseTimes times_for(int message_timeout_s) {
    // Longest duration of a call in progress.
    const double call_s = std::clamp(message_timeout_s, 10, 100);
    return {.lease_s = 3 * call_s,
            .guard_s = call_s,
            .margin_s = call_s,
            .renew_s = call_s / 2,
            .look_s = 2};
}

}  // namespace

std::string why_incompatible(const SlurmSetup &setup, uint32_t user_id) {
    if (release_of(setup.version) != own_release())
        return "built for Slurm " + own_release() + ", and slurmctld is " + setup.version +
               "; install the ringrtd of that version";
    if (user_id != setup.user_id)
        return "must run as SlurmUser " + setup.user + " (uid " + std::to_string(setup.user_id) +
               "), runs as uid " + std::to_string(user_id);
    if (setup.scheduler == kDoubling)
        return "slurmctld runs the same controller: SchedulerType=sched/doubling; set "
               "SchedulerType=sched/backfill, or stop ringrtd";
    return {};
}

DaemonThread::DaemonThread(const DaemonOptions &options, DaemonLog &log, MetricsServer &metrics)
    : ControllerThread("ringrtd"),
      options_(options),
      log_(log),
      metrics_(metrics),
      beat_s_(boottime_s()) {}

void DaemonThread::unreachable(const std::string &why) {
    beat_s_ = boottime_s();
    if (!std::exchange(was_unreachable_, true))
        error("slurmctld does not answer (" + why + "); retrying every few seconds");
    notify_service(std::string("STATUS=") + kSilent);
}

bool DaemonThread::may_act() const { return lease_ && lease_->may_act(boottime_s()); }

// The main thread waits for a signal.
void DaemonThread::ended() { kill(getpid(), SIGTERM); }

// Repeated: slurmctld may have restarted with another configuration.
bool DaemonThread::fits(const SlurmSetup &setup) {
    std::string why;
    if (asked_s_ == 0) {
        asked_s_ = boottime_s();
        boot_s_ = setup.boot_s;
        read_s_ = setup.read_s;
        if (std::exchange(was_unreachable_, false)) info("slurmctld answers");
        why = why_incompatible(setup, geteuid());
    } else if (boottime_s() >= asked_s_ + kAskEvery_s) {
        std::string unused;
        const auto now = ask_slurm_setup(&unused);
        asked_s_ = boottime_s();
        if (now) why = why_incompatible(*now, geteuid());
        if (now && std::exchange(boot_s_, now->boot_s) != now->boot_s) {
            restarted_ = true;
            info("slurmctld was restarted: the controller restarts as well");
        }
        // As in sched/doubling, `scontrol reconfigure` rereads malleable.yaml.
        if (now && std::exchange(read_s_, now->read_s) != now->read_s) reload();
    }
    if (why.empty()) return true;
    error(why);
    failed_ = true;
    return false;
}

Duty DaemonThread::duty(const SlurmSetup &setup) {
    beat_s_ = boottime_s();
    if (!fits(setup)) {
        release();
        return Duty::end;
    }
    if (!lease_) {
        lease_ = std::make_unique<Lease>(this_process(), times_for(setup.message_timeout_s));
        leases_ = std::make_unique<LeaseFile>(setup.state);
    }
    // At most a look, a creation and its confirmation.
    for (int i = 0; i < 4 && lease_step(); ++i) {
    }
    log_lease_state();
    refresh_facts();
    return may_act() ? Duty::act : Duty::stand_by;
}

// False: nothing to do, or a failure.
bool DaemonThread::lease_step() {
    const LeaseOp op = lease_->next(boottime_s());
    if (op == LeaseOp::rest) return false;
    bool failed = false;
    if (op == LeaseOp::look) {
        const LeaseSeen seen = leases_->look();
        failed = seen.failed;
        lease_->done(seen, boottime_s());
    } else {
        const LeaseWrite outcome = op == LeaseOp::create
                                       ? leases_->create(lease_->number(), lease_->record())
                                       : leases_->renew(lease_->number(), lease_->record());
        failed = outcome == LeaseWrite::failed;
        lease_->done(outcome, boottime_s());
    }
    if (failed && leases_->error() != lease_error_) error("lease: " + leases_->error());
    lease_error_ = failed ? leases_->error() : std::string();
    return !failed;
}

void DaemonThread::log_lease_state() {
    std::string now = "standby: no lease yet";
    const LeaseSeen &seen = lease_->seen();
    if (may_act())
        now = "active: holds lease " + std::to_string(lease_->number());
    else if (seen.record && !seen.record->released && seen.record->holder != this_process())
        now = "standby: " + name_of(seen.record->holder) + " is active";
    else if (seen.number != 0)
        now = "standby: the lease has expired or cannot be read or renewed";
    if (now == said_) return;
    said_ = now;
    info(now);
    notify_service("STATUS=" + now);
    if (!may_act() && metrics_.is_running()) metrics_.set_text({});
}

void DaemonThread::release() {
    if (!lease_ || !may_act()) return;
    LeaseRecord record = lease_->record();
    record.released = true;
    if (leases_->renew(lease_->number(), record) != LeaseWrite::done)
        error("lease: " + leases_->error());
}

void DaemonThread::publish(const SlurmCluster &cluster, int hold_s, bool keeps_records) {
    facts_.hold_s = hold_s;
    facts_.partitions.clear();
    for (const auto &[name, limits] : cluster.partitions())
        facts_.partitions[name] = {limits.gpus_in_all, limits.gpus_per_node, limits.nodes,
                                   limits.is_default, limits.whole_nodes};
    const bool other = keeps_records != std::exchange(keeps_records_, keeps_records);
    if (cluster.seen().version != std::exchange(intents_version_, cluster.seen().version) ||
        other) {
        KnownIntents intents;
        if (keeps_records) intents = known_intents(cluster.seen());
        (void)write_diag(options_.facts + ".intents", format_intents(intents));
    }
    refresh_facts();
}

void DaemonThread::refresh_facts() {
    const double now_s = boottime_s();
    if (intents_version_ == 0 || now_s < facts_.at_s + kFactsEvery_s) return;
    facts_.at_s = now_s;
    const bool failed = !write_diag(options_.facts, format_facts(facts_));
    if (failed && !facts_failed_)
        error("cannot write " + options_.facts + ": " + std::strerror(errno) +
              "; new jobs start without waiting for a decision");
    facts_failed_ = failed;
}

void DaemonThread::account(const Diag &diag) {
    if (metrics_.is_running()) metrics_.set_text(to_metrics(diag, Exposition::openmetrics));
}

}  // namespace ringrt::slurm
