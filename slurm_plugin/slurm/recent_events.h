// SPDX-License-Identifier: GPL-2.0-or-later
// The last events, kept in StateSaveLocation. A controller that starts reads them to learn how jobs
// ended that slurmctld, killed, has forgotten. The event log cannot tell it that: a backup's is on
// another host, and logrotate may have taken it away.
#pragma once

#include <cstddef>
#include <string>

#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/slurm/host.h"

namespace ringrt::slurm {

// Then the file becomes FILE.1: some hundred events are kept at least, minutes on a large cluster.
inline constexpr std::size_t kRecentBytes = 64U << 10;

class RecentEvents final : public controller::EventSink {
  public:
    RecentEvents(Log &log, std::string path) : log_(log), path_(std::move(path)) {}

    // On disk when it returns: also for another host that mounts the folder, should this one end.
    void write(const controller::Event &event) override;
    [[nodiscard]] std::string read() const;  // empty where there is none

  private:
    [[nodiscard]] bool append(const std::string &line) const;

    Log &log_;
    std::string path_;
    bool failing_ = false;  // said once
};

}  // namespace ringrt::slurm
