// SPDX-License-Identifier: BSD-3-Clause
// The step boundary of a job handle, and what the job tells about itself.
#include <algorithm>
#include <cmath>
#include <span>

#include "libringrt/api/job.h"
#include "libringrt/base/clock.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt {
namespace {

Status check_ranks(const ringrt_job_t &job) {
    if (!job.must_resize) return {};
    return invalid(job.resizer->is_outside()
                       ? "this extension has not joined its base: call ringrt_job_resize() first"
                       : "the last action was RINGRT_RESIZE: call ringrt_job_resize() first");
}

// Whether this rank has nothing left to write of the save that is under way.
bool is_written(const ringrt_job_t &job) {
    if (!job.checkpoint) return job.written;
    return !job.checkpoint->saver.under_way() || job.checkpoint->saver.written();
}

bool is_saving(const ringrt_job_t &job) {
    return job.saves.now() == job::SaveState::Now::under_way ||
           (job.checkpoint && job.checkpoint->saver.under_way());
}

Status step(ringrt_job_t &job, uint64_t step, ringrt_action_t &action) {
    RINGRT_TRY(job.saves.check_step());
    RINGRT_TRY(check_ranks(job));
    RINGRT_TRY(job.live.catch_sigterm());
    if (job.checkpoint && job.resizer) job.checkpoint->is_complete = true;
    job.job.end_step(step);
    job::StepFlags mine = job.job.wishes(), agreed;
    mine.written = is_written(job);
    const bool saves = is_saving(job);
    RINGRT_TRY(job.live.agree(step, {.flags = mine, .hold = saves, .stay = saves}, agreed));
    auto resized = job::LiveStep::Resized::no;
    RINGRT_TRY(job.live.resize(resized));
    if (resized != job::LiveStep::Resized::no) {
        job.left = resized == job::LiveStep::Resized::left;
        job.must_resize = !job.left;
        action = job.left ? RINGRT_LEAVE : RINGRT_RESIZE;
        return {};
    }
    if (job.live.is_held()) {  // the save ends first, then extensions leave, then the job
        agreed.asked = false;
        agreed.written = true;
    }
    if (agreed.asked && agreed.cut_off) {
        job.job.stay_cut_off();
        agreed.asked = false;
    }
    if (agreed.asked) job.job.begin_leaving();
    const ringrt_action_t result = job.saves.at_step(step, agreed, monotonic_s());
    if (result == RINGRT_CONTINUE) go_on(job);
    action = result;
    return {};
}

bool is_end(ringrt_status_t saved) {
    return saved == RINGRT_SUPERSEDED || saved == RINGRT_PEER_LOST || saved == RINGRT_TIMEOUT ||
           saved == RINGRT_ABORTED;
}

// A rank's outcome of a save, for all ranks. A failure after which the program can go on is that
// of a save.
Status outcome_of_save(ringrt_status_t saved, int rank) {
    if (saved == RINGRT_OK) return {};
    return {
        is_end(saved) ? saved : RINGRT_CHECKPOINT_FAILED,
        format_text("the program's save failed at rank %d: %s", rank, ringrt_status_string(saved))};
}

// Collective. A rank that could not begin has no part to write, but others may have. They end
// theirs like any other, and then all learn of the failure.
Status saving(ringrt_job_t &job, ringrt_status_t begun) {
    RINGRT_TRY(job.saves.check_begin());
    RINGRT_TRY(check_ranks(job));
    std::vector<ringrt_status_t> all;
    {
        const FileWork work(job.group);
        RINGRT_TRY(gather(job.group, begun, all));
    }
    Status failure;
    bool at_all = true;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        if (is_end(all[rank])) return outcome_of_save(all[rank], static_cast<int>(rank));
        if (failure.ok()) failure = outcome_of_save(all[rank], static_cast<int>(rank));
        at_all = at_all && all[rank] != RINGRT_OK;
    }
    if (begun != RINGRT_OK) job.written = true;
    if (at_all) {
        job.saves.could_not_begin();
        job.written = false;
        job.job.put_off_save();
        job.job.log(failure.message + ": training continues");
    } else {
        job.saves.begun(job.job.step(), std::move(failure), monotonic_s());
    }
    go_on(job);
    return {};
}

Status saved(ringrt_job_t &job, ringrt_status_t of_rank, ringrt_action_t &action) {
    RINGRT_TRY(check_ranks(job));
    Status outcome;
    {
        const FileWork work(job.group);
        outcome = agree(job.group, outcome_of_save(of_rank, job.group.rank()));
    }
    // Why it could not begin says more than that there was nothing to end.
    if (!job::is_fatal(outcome) && !job.saves.failure().ok()) outcome = job.saves.failure();
    const job::SaveState::Saved of = job.saves.saved(job.job.step(), monotonic_s());
    if (job::is_fatal(outcome)) return outcome;
    job.written = false;
    if (outcome.ok())
        job.job.saved(of.step, of.begun_s > 0 ? (monotonic_s() - of.begun_s) * 1e3 : 0);
    else
        job.job.put_off_save();
    ringrt_action_t result = of.next;
    if (of.is_to_leave) {
        outcome = job.job.leave(outcome, result);
        if (job::is_fatal(outcome)) return outcome;
    } else if (!outcome.ok()) {
        job.job.log(outcome.message + ": training continues");
    }
    job.left = result == RINGRT_LEAVE;
    if (result == RINGRT_CONTINUE) go_on(job);
    action = result;
    return {};
}

Status set_planned_speeds(ringrt_job_t &job, std::span<const ringrt_speed_t> speeds) {
    if (speeds.size() > records::kPlannedSpeedsMax) return invalid("at most 8 planned speeds");
    for (const ringrt_speed_t &speed : speeds) {
        const bool is_valid = speed.gpus >= 1 && speed.gpus <= records::kGpusMax &&
                              std::isfinite(speed.step_ms) && speed.step_ms > 0;
        if (!is_valid) return invalid("a planned speed has no GPUs or no time");
    }
    job.planned_speeds.assign(speeds.begin(), speeds.end());
    std::ranges::sort(job.planned_speeds, {}, &ringrt_speed_t::gpus);
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

void go_on(ringrt_job_t &job) {
    job.job.report(job.job.step(), [&job](records::Telemetry &out) {
        job.live.add_to(out);
        for (const ringrt_speed_t &speed : job.planned_speeds)
            out.planned[static_cast<size_t>(out.planned_sizes++)] = {speed.gpus, speed.step_ms};
    });
    job.job.begin_step();
}

}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_job_step(ringrt_job_t *job, uint64_t at, ringrt_action_t *action) {
    return collective(job, [&] {
        if (!action) return invalid("action is NULL");
        return step(*job, at, *action);
    });
}

ringrt_status_t ringrt_job_saving(ringrt_job_t *job, ringrt_status_t begun) {
    return collective(job, [&] { return saving(*job, begun); });
}

ringrt_status_t ringrt_job_written(ringrt_job_t *job) {
    return guard(job, [&] {
        if (job->checkpoint) return invalid("the checkpoint handle knows what is written");
        job->written = true;
        return Status{};
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

ringrt_status_t ringrt_job_set_planned_speeds(ringrt_job_t *job, const ringrt_speed_t *speeds,
                                              size_t count) {
    return guard(job, [&] {
        if (!speeds && count > 0) return invalid("speeds is NULL");
        return set_planned_speeds(*job, {speeds, count});
    });
}

ringrt_status_t ringrt_job_set_loss(ringrt_job_t *job, double loss, double goal) {
    return guard(job, [&] {
        if (job->job.leads()) job->job.progress().record_loss(loss, goal);
        return Status{};
    });
}

}  // extern "C"
