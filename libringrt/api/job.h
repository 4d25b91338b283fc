// SPDX-License-Identifier: BSD-3-Clause
// What a ringrt_job_t holds, and how its functions run.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "libringrt/api/checkpoint.h"
#include "libringrt/job/job.h"
#include "libringrt/job/live_step.h"
#include "libringrt/job/save_state.h"
#include "libringrt/ringrt_job.h"

namespace ringrt {

// Resolves the caller's config, the environment and the defaults, for rank `rank` of `size`.
Status read_job_config(const ringrt_job_config_t *config, const Environment &environment, int rank,
                       int size, Settings &out);

// With live_resize (job_resize.cpp).
Status make_resizer(ringrt_job_t &job);
Status close_resizer(ringrt_job_t &job);

// The next step begins, and its time.
void go_on(ringrt_job_t &job);

}  // namespace ringrt

struct ringrt_job {
    ringrt_job(ringrt::OwnComm own, ringrt::Settings given, ringrt_checkpoint_t *over)
        : settings(std::move(given)),
          comm(std::move(own)),
          group(
              comm->communicator, comm->timeout_ms,
              {.rank = settings.rank + 1, .size = settings.size + 1, .now = settings.is_extension}),
          job(settings, group),
          live(settings, group, job),
          checkpoint(over),
          saves(!settings.save_inline),
          must_resize(settings.is_extension) {
        if (!checkpoint) return;
        checkpoint->job = &job;
        checkpoint->is_live = settings.live_resize != 0;
    }
    ~ringrt_job() {
        if (!checkpoint) return;
        checkpoint->job = nullptr;
        checkpoint->is_live = false;
    }
    ringrt_job(const ringrt_job &) = delete;
    ringrt_job &operator=(const ringrt_job &) = delete;

    const pid_t pid = getpid();
    mutable ringrt::ErrorLine error;
    const ringrt::Settings settings;
    ringrt::OwnComm comm;             // of the ranks that started with this job
    ringrt::CommunicatorGroup group;  // of the present ranks
    ringrt::job::Job job;
    ringrt::job::LiveStep live;
    const std::vector<ringrt::checkpoint::Buffer> no_buffers;
    ringrt::live::MovingRows no_rows{{}};
    std::unique_ptr<ringrt::live::Resizer> resizer;  // null without live_resize
    ringrt_checkpoint_t *const checkpoint;           // may be null
    std::string progress;                            // ringrt_job_progress()'s
    ringrt::job::SaveState saves;
    bool must_resize;  // the ranks have changed: ringrt_job_resize() is next
    // This rank's part of a save in the program's own format; any thread may set it.
    std::atomic<bool> written{false};
    std::vector<ringrt_speed_t> planned_speeds;  // by rising size
    bool left = false;  // the action was RINGRT_LEAVE: no rank waits for another
};

namespace ringrt {

inline Status check_handle(const ringrt_job_t *job) {
    if (!job) return invalid("the job handle is NULL");
    if (job->pid != getpid())
        return {RINGRT_FORKED, "this job handle belongs to the process that fork()ed this one"};
    if (job->comm->aborted) return {RINGRT_ABORTED, "ringrt_job_abort() was called"};
    return {};
}

inline Status check_stays(const ringrt_job_t &job) {
    if (!job.left) return {};
    return invalid("the last action was RINGRT_LEAVE: call ringrt_job_close() and end");
}

// Runs one call on a handle. A failure leaves one line for last_error().
template <typename Body>
ringrt_status_t guard(const ringrt_job_t *job, Body &&body) noexcept {
    return run_guarded(
        [&] {
            Status valid = check_handle(job);
            return valid.ok() ? body() : valid;
        },
        [&](Status outcome) {
            if (job)
                job->error.keep(std::move(outcome.message));
            else
                thread_error = std::move(outcome.message);
        });
}

// Runs a collective call. The other ranks do not wait for one that cannot continue.
template <typename Body>
ringrt_status_t collective(ringrt_job_t *job, Body &&body) noexcept {
    return guard(job, [&]() -> Status {
        RINGRT_TRY(check_stays(*job));
        return abort_if_thrown(body, [&] { job->group.abort(); });
    });
}

}  // namespace ringrt
