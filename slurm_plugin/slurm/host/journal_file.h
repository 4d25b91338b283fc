// SPDX-License-Identifier: GPL-2.0-or-later
// The journal (controller/journal.h) as a file in StateSaveLocation, which a backup slurmctld
// always shares. (The event log is for people: it is next to slurmctld's log, on a local disk.)
#pragma once

#include <cstddef>
#include <string>

#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/journal.h"
#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

// A file of this size becomes FILE.1: at least a thousand events are kept, minutes on a large
// cluster.
inline constexpr std::size_t kJournalBytes = 64U << 10;

class JournalFile final : public controller::EventSink {
  public:
    JournalFile(Log &log, std::string path) : log_(log), path_(std::move(path)) {}

    // On disk when it returns: another host that mounts the directory can read it if this one
    // fails.
    void write(const controller::Event &event) override;
    [[nodiscard]] controller::Journal read() const;  // empty if there is no file

  private:
    [[nodiscard]] bool append(const std::string &line) const;

    Log &log_;
    std::string path_;
    bool failing_ = false;  // already logged
};

}  // namespace ringrt::slurm
