// SPDX-License-Identifier: GPL-2.0-or-later
// ringrtd's log: standard error (the systemd journal), or a file in the format of slurmctld's log.
#pragma once

#include <mutex>
#include <string>

#include "slurm_plugin/slurm/host/host.h"

namespace ringrt::slurm {

class DaemonLog final : public Log {
  public:
    DaemonLog() = default;
    DaemonLog(const DaemonLog &) = delete;
    DaemonLog &operator=(const DaemonLog &) = delete;
    ~DaemonLog() override;

    // Switches to this file; empty: standard error. On false, *error has the reason and nothing
    // changes.
    [[nodiscard]] bool open(const std::string &path, std::string *error);
    void reopen();  // the file of the same name, after logrotate

    void info(const std::string &line) override { write(false, line); }
    void error(const std::string &line) override { write(true, line); }

  private:
    void write(bool is_error, const std::string &line);

    std::mutex mutex_;
    std::string path_;
    int file_ = 2;
};

}  // namespace ringrt::slurm
