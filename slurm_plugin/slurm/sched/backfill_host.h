// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's own backfill scheduler, run at the same time as this plugin's thread. slurm.conf's
// SchedulerType names only one plugin, and every rigid job must be scheduled exactly as without
// this plugin.
#pragma once

#include <mutex>
#include <string>

namespace ringrt::slurm {

class BackfillHost {
  public:
    // On false, *error has the reason. slurmctld must not start then: rigid jobs would not be
    // backfilled.
    bool start(std::string *error);
    void stop();
    void reconfigure();

  private:
    bool load(const std::string &path, std::string *error);

    void *object_ = nullptr;
    int (*init_)() = nullptr;
    int (*fini_)() = nullptr;
    std::mutex mutex_;  // guards reconfig_: slurmctld may reconfigure while it stops the plugin
    int (*reconfig_)() = nullptr;
};

}  // namespace ringrt::slurm
