// SPDX-License-Identifier: GPL-2.0-or-later
// The controller's events: one line each in the host's log, and one JSON object each in a file of
// bounded size. A full file is renamed to FILE.1, so at most two are kept.
#pragma once

#include <string>

#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

inline constexpr long kEventLogBytesMax = 16L << 20;

class EventLog final : public controller::EventSink {
  public:
    explicit EventLog(Log &log) : log_(log) {}
    EventLog(const EventLog &) = delete;
    EventLog &operator=(const EventLog &) = delete;
    ~EventLog() override;

    void open(const std::string &path);
    void write(const controller::Event &event) override;

  private:
    void append(const std::string &line);
    void rotate();

    Log &log_;
    std::string path_;
    int file_ = -1;
};

}  // namespace ringrt::slurm
