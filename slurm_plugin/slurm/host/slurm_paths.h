// SPDX-License-Identifier: GPL-2.0-or-later
// Where slurmctld keeps its files, as slurmctld itself says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::slurm {

struct SlurmPaths {
    std::string yaml;       // malleable.yaml beside slurm.conf
    std::string last_good;  // its copy in StateSaveLocation, as last accepted
    std::string journal;    // malleable_journal in StateSaveLocation
    // Beside slurmctld's log, or in StateSaveLocation where that goes to syslog:
    std::string event_log;  // malleable_events.jsonl
    std::string diag;       // malleable_diag.json
    std::string explain;    // malleable_explain.json
};

// What else a daemon beside slurmctld must know of it.
struct SlurmSetup {
    SlurmPaths paths;
    std::string state;      // StateSaveLocation
    std::string version;    // of slurmctld
    std::string scheduler;  // SchedulerType
    std::string user;       // SlurmUser
    uint32_t user_id = 0;
    int64_t boot_s = 0;  // Unix time at which slurmctld was started
    int message_timeout_s = 10;
    double requeue_hold_s =
        121;  // start delay that a requeue sets: cred_expire of AuthInfo, plus 1
};

// An RPC. nullopt: slurmctld does not answer, and *error says what Slurm calls that.
[[nodiscard]] std::optional<SlurmSetup> ask_slurm_setup(std::string *error);
[[nodiscard]] std::optional<SlurmPaths> ask_slurm_paths();
// From the value of AuthInfo, read as Slurm reads it (its interfaces/cred.c).
[[nodiscard]] double requeue_hold_s(std::string_view auth_info);

}  // namespace ringrt::slurm
