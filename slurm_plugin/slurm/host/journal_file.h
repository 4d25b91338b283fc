// SPDX-License-Identifier: GPL-2.0-or-later
// The journal (controller/journal.h) as a file in StateSaveLocation, which a backup slurmctld has
// by definition. The event log is for people: it lies beside slurmctld's log, on a local disk.
#pragma once

#include <cstddef>
#include <string>

#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/journal.h"
#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

// Then the file becomes FILE.1: a thousand events are kept at least, minutes on a large cluster.
inline constexpr std::size_t kJournalBytes = 64U << 10;

class JournalFile final : public controller::EventSink {
  public:
    JournalFile(Log &log, std::string path) : log_(log), path_(std::move(path)) {}

    // On disk when it returns: also for another host that mounts the folder, should this one end.
    void write(const controller::Event &event) override;
    [[nodiscard]] controller::Journal read() const;  // empty where there is none

  private:
    [[nodiscard]] bool append(const std::string &line) const;

    Log &log_;
    std::string path_;
    bool failing_ = false;  // said once
};

}  // namespace ringrt::slurm
