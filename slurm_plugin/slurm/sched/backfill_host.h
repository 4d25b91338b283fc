// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's own backfill scheduler, loaded beside our thread: slurm.conf's SchedulerType names one
// plugin, and every job that is not malleable shall be scheduled exactly as without this one.
#pragma once

#include <mutex>
#include <string>

namespace ringrt::slurm {

class BackfillHost {
  public:
    // False: *error says why; slurmctld must not start then, for rigid jobs would not be
    // backfilled.
    bool start(std::string *error);
    void stop();
    void reconfigure();

  private:
    bool load(const std::string &path, std::string *error);

    void *object_ = nullptr;
    int (*init_)() = nullptr;
    int (*fini_)() = nullptr;
    std::mutex mutex_;  // of reconfig_: slurmctld may be told to reconfigure while it stops us
    int (*reconfig_)() = nullptr;
};

}  // namespace ringrt::slurm
