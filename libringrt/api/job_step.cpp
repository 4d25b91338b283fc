// SPDX-License-Identifier: BSD-3-Clause
// The step boundary of a job handle, and what the job tells about itself.
#include "libringrt/api/job.h"
#include "libringrt/base/clock.h"

namespace ringrt {
namespace {

using Save = decltype(ringrt_job::wanted);

Status check_stays(const ringrt_job_t &job) {
    if (!job.left) return {};
    return invalid("the last action was RINGRT_LEAVE: call ringrt_job_close() and end");
}

// Runs a collective call. The other ranks do not wait for one that cannot continue.
template <typename Body>
ringrt_status_t collective(ringrt_job_t *job, Body &&body) noexcept {
    return guard(job, [&]() -> Status {
        RINGRT_TRY(check_stays(*job));
        return abort_if_thrown(body, [&] { job->comm->communicator.abort(); });
    });
}

Status step(ringrt_job_t &job, uint64_t step, ringrt_action_t &action) {
    if (job.wanted != Save::none)
        return invalid("the last action was RINGRT_SAVE: call ringrt_job_saved() first");
    RINGRT_TRY(job.job.slurm().catch_sigterm());
    job.job.end_step(step);
    job::StepFlags agreed;
    RINGRT_TRY(job.job.agree(step, job.job.wishes(), agreed));
    if (agreed.asked && agreed.cut_off) {
        job.job.stay_cut_off();
    } else if (agreed.asked || agreed.save_due) {
        job.wanted = agreed.asked ? Save::to_leave : Save::periodic;
        job.wanted_s = monotonic_s();
        if (agreed.asked) job.job.begin_leaving();
        action = RINGRT_SAVE;
        return {};
    }
    job.job.report(step);
    job.job.begin_step();
    action = RINGRT_CONTINUE;
    return {};
}

// This rank's outcome of a save, for all ranks. A failure after which the program can go on is that
// of a save.
Status outcome_of_save(ringrt_status_t saved, int rank) {
    if (saved == RINGRT_OK) return {};
    const bool is_end = saved == RINGRT_SUPERSEDED || saved == RINGRT_PEER_LOST ||
                        saved == RINGRT_TIMEOUT || saved == RINGRT_ABORTED;
    return {
        is_end ? saved : RINGRT_CHECKPOINT_FAILED,
        format_text("the program's save failed at rank %d: %s", rank, ringrt_status_string(saved))};
}

Status saved(ringrt_job_t &job, ringrt_status_t of_rank, ringrt_action_t &action) {
    Status outcome;
    {
        const FileWork work(job.group);
        outcome = agree(job.group, outcome_of_save(of_rank, job.group.rank()));
    }
    const Save wanted = std::exchange(job.wanted, Save::none);
    if (job::is_fatal(outcome)) return outcome;
    const uint64_t step = job.job.step();
    const bool is_timed = wanted != Save::none;
    if (outcome.ok())
        job.job.saved(step, is_timed ? (monotonic_s() - job.wanted_s) * 1e3 : 0);
    else
        job.job.put_off_save();
    ringrt_action_t result = RINGRT_CONTINUE;
    if (wanted == Save::to_leave) {
        outcome = job.job.leave(outcome, result);
        if (job::is_fatal(outcome)) return outcome;
    } else if (!outcome.ok()) {
        job.job.log(outcome.message + ": training continues");
    }
    job.left = result == RINGRT_LEAVE;
    if (!job.left) job.job.report(step);
    job.job.begin_step();
    action = result;
    return {};
}

Status resumed(ringrt_job_t &job, uint64_t step, const void *data, size_t bytes) {
    if (!data && bytes > 0) return invalid("data is NULL");
    checkpoint::Manifest manifest{.step = step, .seed = job.settings.seed};
    if (bytes > 0) {
        RINGRT_TRY(checkpoint::parse_manifest({static_cast<const char *>(data), bytes}, manifest));
        RINGRT_TRY(checkpoint::same_step(0, manifest.step, step));
    } else {
        manifest.ranks = static_cast<uint32_t>(job.group.size());
        manifest.samples = step * samples_per_step(job.job.progress().batch(), job.group.size());
    }
    job.job.restored(manifest, -1);
    return {};
}

}  // namespace
}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_job_step(ringrt_job_t *job, uint64_t at, ringrt_action_t *action) {
    return collective(job, [&] {
        if (!action) return invalid("action is NULL");
        return step(*job, at, *action);
    });
}

ringrt_status_t ringrt_job_saved(ringrt_job_t *job, ringrt_status_t of_rank,
                                 ringrt_action_t *action) {
    return collective(job, [&] {
        if (!action) return invalid("action is NULL");
        return saved(*job, of_rank, *action);
    });
}

ringrt_status_t ringrt_job_progress(ringrt_job_t *job, const void **data, size_t *bytes) {
    return guard(job, [&] {
        if (!data || !bytes) return invalid("data or bytes is NULL");
        job->progress = checkpoint::format_manifest(
            checkpoint::manifest_of({.job = job->settings.job, .restart = job->settings.restart},
                                    job->job.meta(job->job.step()), job->group.size(), {}));
        *data = job->progress.data();
        *bytes = job->progress.size();
        return Status{};
    });
}

ringrt_status_t ringrt_job_resumed(ringrt_job_t *job, uint64_t step, const void *data,
                                   size_t bytes) {
    return guard(job, [&] { return resumed(*job, step, data, bytes); });
}

ringrt_status_t ringrt_job_batch(const ringrt_job_t *job, ringrt_batch_t *out) {
    return guard(job, [&] {
        if (!out) return invalid("out is NULL");
        const job::Progress &progress = job->job.progress();
        return share_of_batch(progress.batch(), job->group.rank(), job->group.size(),
                              progress.samples(), *out);
    });
}

ringrt_status_t ringrt_job_set_batch(ringrt_job_t *job, uint32_t global_batch) {
    return guard(job, [&] { return job->job.progress().set_batch(global_batch); });
}

ringrt_status_t ringrt_job_set_steps_left(ringrt_job_t *job, uint64_t steps_left) {
    return guard(job, [&] { return job->job.progress().set_steps_left(steps_left); });
}

ringrt_status_t ringrt_job_set_samples_left(ringrt_job_t *job, uint64_t samples_left) {
    return guard(job, [&] { return job->job.progress().set_samples_left(samples_left); });
}

ringrt_status_t ringrt_job_set_loss(ringrt_job_t *job, double loss, double goal) {
    return guard(job, [&] {
        if (job->job.leads()) job->job.progress().record_loss(loss, goal);
        return Status{};
    });
}

}  // extern "C"
