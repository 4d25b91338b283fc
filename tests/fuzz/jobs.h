// SPDX-License-Identifier: BSD-3-Clause
// The promises about the jobs that a reader accepts.
#pragma once

#include <cmath>

#include "sim/workload/workload.h"
#include "tests/fuzz/fuzz.h"

namespace ringrt::fuzz {

// What the simulator relies on in every accepted job.
inline void check_jobs(const sim::Workload &workload, const sim::WorkloadOptions &options) {
    for (const sim::JobSpec &job : workload.jobs) {
        expect(std::isfinite(job.submit_s) && job.submit_s >= 0, "submit time");
        expect(std::isfinite(job.limit_s) && job.limit_s >= 0, "time limit");
        expect(job.gpus_asked >= 1 && job.gpus_asked <= options.cluster_gpus, "GPUs asked for");
        expect(job.gpus_min >= 1 && job.gpus_min <= job.gpus_max, "MIN <= MAX");
        expect(job.gpus_limit >= 1 && job.batch >= 1, "limit and batch");
        expect(job.profile != nullptr, "a profile");
        const double step_s =
            job.profile->step_time(sim::packed(job.gpus_asked, 4), job.batch).step_s;
        expect(std::isfinite(step_s) && step_s > 0, "a step takes time");
        const std::vector<double> &ends = job.profile->epoch_ends();
        expect(!ends.empty() && std::isfinite(ends.back()), "the work is finite");
    }
}

// Runs a reader. A refusal is one line.
template <typename Read>
void read_checked(Read read, const sim::WorkloadOptions &options) try {
    check_jobs(read(), options);
} catch (const sim::InputError &error) {
    expect(is_one_line(error.what()), "a refused file gets one line");
}

}  // namespace ringrt::fuzz
