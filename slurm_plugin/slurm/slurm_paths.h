// SPDX-License-Identifier: GPL-2.0-or-later
// Where slurmctld keeps its files, as slurmctld itself says.
#pragma once

#include <optional>
#include <string>

namespace ringrt::slurm {

struct SlurmPaths {
    std::string yaml;       // malleable.yaml beside slurm.conf
    std::string last_good;  // its copy in StateSaveLocation, as last accepted
    std::string recent;     // malleable_recent.jsonl in StateSaveLocation
    // Beside slurmctld's log, or in StateSaveLocation where that goes to syslog:
    std::string event_log;  // malleable_events.jsonl
    std::string diag;       // malleable_diag.json
};

// An RPC. nullopt: slurmctld does not answer.
[[nodiscard]] std::optional<SlurmPaths> ask_slurm_paths();

}  // namespace ringrt::slurm
