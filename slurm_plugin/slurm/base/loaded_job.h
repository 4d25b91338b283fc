// SPDX-License-Identifier: GPL-2.0-or-later
// One job, as slurmctld reports it.
//
// Each task of an array is a job with its own number. Only the array's first number is ambiguous:
// it stands for the array, for the tasks that have no record yet, and finally for the last task.
// For this number, Slurm shows, signals and cancels all tasks; a request for one task must name it
// ("100_3"). Updates and requeues by number apply to one record.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "slurm_plugin/slurm/slurm_compat.h"

namespace ringrt::slurm {

class LoadedJob {
  public:
    // Returns Slurm's return code, with errno set. Even on success the job may no longer exist.
    int load(uint32_t job_id) {
        job_info_msg_t *found = nullptr;
        const int rc = load_job(job_id, &found);
        answer_.reset(rc == SLURM_SUCCESS ? found : nullptr);
        job_ = nullptr;
        if (answer_)
            for (const slurm_job_info_t &job : std::span(answer_->job_array, answer_->record_count))
                if (job_id_of(job) == job_id) job_ = &job;
        return rc;
    }

    explicit operator bool() const { return job_ != nullptr; }
    const slurm_job_info_t &operator*() const { return *job_; }
    const slurm_job_info_t *operator->() const { return job_; }
    // The time of slurmctld's answer, by its own clock.
    [[nodiscard]] time_t reported_at() const { return answer_->last_update; }

  private:
    struct Free {
        void operator()(job_info_msg_t *jobs) const { free_jobs(jobs); }
    };
    std::unique_ptr<job_info_msg_t, Free> answer_;
    const slurm_job_info_t *job_ = nullptr;
};

inline bool is_array_task(const slurm_job_info_t &job) {
    return job.array_job_id != 0 && job.array_task_id != NO_VAL;
}

// "100_3" for an array task, otherwise the number.
inline std::string name_in_requests(const slurm_job_info_t &job) {
    if (!is_array_task(job)) return std::to_string(job_id_of(job));
    return std::to_string(job.array_job_id) + "_" + std::to_string(job.array_task_id);
}

}  // namespace ringrt::slurm
