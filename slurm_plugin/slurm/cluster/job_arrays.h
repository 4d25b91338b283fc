// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <slurm/slurm.h>

#include <cstdint>
#include <map>
#include <span>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// The arrays in a listing of all jobs. Pending tasks that backfill has looked at have their own
// records. All others are one record, with the array's number.
class JobArrays {
  public:
    explicit JobArrays(std::span<const slurm_job_info_t> jobs = {});

    void note_in(const slurm_job_info_t &job, controller::JobRecord &record) const;

  private:
    struct Limited {
        uint32_t most = 0, run = 0;
        bool others_wait = false;
    };
    // Arrays with a limit of running tasks (--array=0-9%2), by number. Slurm subtracts a task as
    // soon as it is requeued, so another task can take its place before it restarts.
    std::map<uint32_t, Limited> limited_;
};

}  // namespace ringrt::slurm
