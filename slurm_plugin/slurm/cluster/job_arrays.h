// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <slurm/slurm.h>

#include <cstdint>
#include <map>
#include <span>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// The arrays in a listing of all jobs. Of the tasks that wait, those that backfill has looked at
// have records of their own; all others are one record, which has the array's number.
class JobArrays {
  public:
    explicit JobArrays(std::span<const slurm_job_info_t> jobs = {});

    void note_in(const slurm_job_info_t &job, controller::JobRecord &record) const;

  private:
    struct Limited {
        uint32_t most = 0, run = 0;
        bool others_wait = false;
    };
    // By their numbers, those with a limit of their own (--array=0-9%2). Slurm counts a task out as
    // soon as it leaves, so that the next one takes its place before it is back from a requeue.
    std::map<uint32_t, Limited> limited_;
};

}  // namespace ringrt::slurm
