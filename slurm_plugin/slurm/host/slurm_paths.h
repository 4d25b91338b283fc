// SPDX-License-Identifier: GPL-2.0-or-later
// The paths of slurmctld's files, as slurmctld reports them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::slurm {

struct SlurmPaths {
    std::string yaml;       // malleable.yaml next to slurm.conf
    std::string last_good;  // copy of the last accepted one, in StateSaveLocation
    std::string journal;    // malleable_journal in StateSaveLocation
    // Next to slurmctld's log, or in StateSaveLocation if it logs to syslog:
    std::string event_log;  // malleable_events.jsonl
    std::string diag;       // malleable_diag.json
    std::string explain;    // malleable_explain.json
};

// The other facts that a daemon outside slurmctld needs.
struct SlurmSetup {
    SlurmPaths paths;
    std::string state;      // StateSaveLocation
    std::string version;    // of slurmctld
    std::string scheduler;  // SchedulerType
    std::string user;       // SlurmUser
    uint32_t user_id = 0;
    int64_t boot_s = 0;  // Unix time of slurmctld's start
    int64_t read_s = 0;  // when it last read slurm.conf: at its start, or at a reconfigure
    int message_timeout_s = 10;
    double requeue_hold_s = 121;  // start delay after a requeue: AuthInfo's cred_expire, plus 1
};

// An RPC. nullopt: slurmctld does not answer; *error has Slurm's error text.
[[nodiscard]] std::optional<SlurmSetup> ask_slurm_setup(std::string *error);
[[nodiscard]] std::optional<SlurmPaths> ask_slurm_paths();
// From the value of AuthInfo, parsed as in Slurm (its interfaces/cred.c).
[[nodiscard]] double requeue_hold_s(std::string_view auth_info);

}  // namespace ringrt::slurm
