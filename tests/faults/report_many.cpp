// SPDX-License-Identifier: BSD-3-Clause
// Writes the Comment of many running jobs, as libringrt does inside each job: every 30 s each job
// of that name reports its step and speed. It is one process, so that 500 jobs do not each start
// scontrol.
//
// usage: report_many NAME SECONDS     (until SIGTERM; then prints how many reports were accepted)
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "slurm_plugin/records/telemetry.h"
#include "slurm_plugin/slurm/slurm_compat.h"

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stopping = 0;

struct Job {
    uint32_t id;
    int restarts, gpus;
};

std::vector<Job> running_jobs(const char *name) {
    std::vector<Job> out;
    job_info_msg_t *jobs = nullptr;
    if (slurm_load_jobs(0, &jobs, SHOW_ALL) != SLURM_SUCCESS) return out;
    for (const slurm_job_info_t &job : std::span(jobs->job_array, jobs->record_count))
        if (job.job_state == JOB_RUNNING && job.name != nullptr && std::strcmp(job.name, name) == 0)
            out.push_back({ringrt::slurm::job_id_of(job), static_cast<int>(job.restart_cnt),
                           static_cast<int>(job.num_tasks)});
    slurm_free_job_info_msg(jobs);
    return out;
}

bool report(const Job &job, uint64_t step) {
    ringrt::records::Telemetry telemetry{
        .run = job.restarts, .gpus = job.gpus, .step = step, .step_ms = 130.0 / job.gpus};
    telemetry.steps_left = 1000000;
    telemetry.ckpt_step = step;
    telemetry.save_ms = 200;
    telemetry.up = true;
    std::string text = ringrt::records::format_into("", telemetry);
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    ringrt::slurm::set_job_id(change, job.id);
    change.comment = text.data();
    return slurm_update_job(&change) == SLURM_SUCCESS;
}

}  // namespace

int main(int argc, char **argv) {
    const double every_s = argc == 3 ? std::atof(argv[2]) : 0;
    if (every_s <= 0) {
        std::fprintf(stderr, "usage: report_many NAME SECONDS\n");
        return 2;
    }
    std::signal(SIGTERM, [](int) { stopping = 1; });
    slurm_init(nullptr);
    long accepted = 0, refused = 0;
    const Clock::time_point began = Clock::now();
    for (long sweep = 0; stopping == 0; ++sweep) {
        const std::chrono::duration<double> every(every_s);
        const std::vector<Job> jobs = running_jobs(argv[1]);
        for (std::size_t i = 0; i < jobs.size() && stopping == 0; ++i) {
            // Spread over the interval, as for jobs that began at different moments.
            const double share = static_cast<double>(i) / static_cast<double>(jobs.size());
            std::this_thread::sleep_until(
                began + std::chrono::duration_cast<Clock::duration>(every * (sweep + share)));
            const bool good = report(jobs[i], 100 + 230 * static_cast<uint64_t>(sweep));
            good ? ++accepted : ++refused;
        }
        for (const auto end =
                 began + std::chrono::duration_cast<Clock::duration>(every * (sweep + 1));
             stopping == 0 && Clock::now() < end;)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    std::printf("%ld reports, %ld refused\n", accepted, refused);
    return 0;
}
