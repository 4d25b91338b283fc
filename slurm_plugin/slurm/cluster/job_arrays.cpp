// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/cluster/job_arrays.h"

#include <algorithm>

#include "slurm_plugin/slurm/base/loaded_job.h"

namespace ringrt::slurm {
namespace {

constexpr int kTasksMost = 1 << 20;

bool has_own_limit(const slurm_job_info_t &job) {
    return job.array_job_id != 0 && job.array_max_tasks != 0 && job.array_max_tasks != NO_VAL;
}

int tasks_of(const slurm_job_info_t &job) {
    const bool is_rest = job.array_job_id != 0 && job.array_task_id == NO_VAL;
    if (!is_rest || job.array_bitmap == nullptr) return 1;
    return std::clamp(slurm_bit_set_count(static_cast<bitstr_t *>(job.array_bitmap)), 1,
                      kTasksMost);
}

}  // namespace

JobArrays::JobArrays(std::span<const slurm_job_info_t> jobs) {
    for (const slurm_job_info_t &job : jobs) {
        if (!has_own_limit(job)) continue;
        Limited &array = limited_[job.array_job_id];
        array.most = std::max(array.most, job.array_max_tasks);
        const uint32_t state = job.job_state & JOB_STATE_BASE;
        if (state == JOB_RUNNING || state == JOB_SUSPENDED) ++array.run;
        if (state == JOB_PENDING) array.others_wait = true;
    }
}

void JobArrays::note_in(const slurm_job_info_t &job, controller::JobRecord &record) const {
    if (is_array_task(job)) record.array_task = name_in_requests(job);
    record.tasks_waiting = tasks_of(job);
    const auto found = limited_.find(job.array_job_id);
    if (found == limited_.end()) return;
    const auto &[most, run, others_wait] = found->second;
    record.array_at_limit = others_wait && run >= most;
    const uint32_t room = std::min<uint32_t>(most > run ? most - run : 1, kTasksMost);
    record.tasks_waiting = std::min(record.tasks_waiting, static_cast<int>(room));
}

}  // namespace ringrt::slurm
