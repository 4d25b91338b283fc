// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes a job handle.
#include "libringrt/api/job.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "libringrt/base/config_struct.h"

namespace ringrt {
namespace {

// The struct's first version ended here, so no program passes a smaller one.
constexpr size_t kConfigBytesMin =
    offsetof(ringrt_job_config_t, live_resize) + sizeof(ringrt_job_config_t::live_resize);

// Not collective. What this rank can see of the ranks of the job and of its checkpoints.
Status check_ranks(const ringrt_comm_t &comm, const ringrt_checkpoint_t *checkpoint, bool is_live) {
    SlurmIdentity slurm;
    RINGRT_TRY(slurm_identity(getenv, &slurm));
    const int size = comm.communicator.size();
    if (size < slurm.size)
        return {RINGRT_INVALID_ARGUMENT,
                format_text("the communicator has %d ranks and the job step %d tasks: open the job "
                            "over a communicator of all tasks, because a resize ends them all",
                            size, slurm.size)};
    if (!checkpoint) return {};
    RINGRT_TRY(check_handle(checkpoint));
    if (checkpoint->group.size() != size || checkpoint->group.rank() != comm.communicator.rank())
        return invalid("the checkpoint handle has other ranks than the job's communicator");
    if (checkpoint->job) return invalid("the checkpoint handle belongs to another job handle");
    if (checkpoint->is_used)
        return invalid("the checkpoint handle has saved or restored: open the job before that");
    for (const checkpoint::Buffer &each : checkpoint->registered.buffers())
        if (is_live && each.parameter.sharded)
            return {RINGRT_UNSUPPORTED, "a job with blocks of tensors cannot be resized in place"};
    return {};
}

// Collective. Shares of a batch must tile it, and every rank must wait for the same saves.
Status agree_on_config(Group &group, const Settings &settings,
                       const ringrt_checkpoint_t *checkpoint) {
    struct Common {
        uint64_t batch;
        uint64_t has_checkpoint;
        uint64_t saves_inline;
        uint64_t is_live;
    };
    const BatchRule &batch = settings.batch;
    const Common mine{
        checkpoint::hash_text(format_text("%u %u %d", batch.reference_batch, batch.reference_size,
                                          static_cast<int>(batch.rule))),
        checkpoint != nullptr, settings.save_inline, settings.live_resize};
    std::vector<Common> all;
    RINGRT_TRY(gather(group, mine, all));
    for (size_t rank = 1; rank < all.size(); ++rank) {
        if (all[rank].has_checkpoint != all[0].has_checkpoint)
            return {RINGRT_MISMATCH, format_text("rank %zu has %s checkpoint handle, unlike rank 0",
                                                 rank, all[rank].has_checkpoint ? "a" : "no")};
        if (all[rank].saves_inline != all[0].saves_inline)
            return {RINGRT_MISMATCH, format_text("rank %zu has background_saves=%d, unlike rank 0",
                                                 rank, all[rank].saves_inline ? 0 : 1)};
        if (all[rank].is_live != all[0].is_live)
            return {RINGRT_MISMATCH, format_text("rank %zu has live_resize=%d, unlike rank 0", rank,
                                                 all[rank].is_live ? 1 : 0)};
        if (all[rank].batch != all[0].batch)
            return {RINGRT_MISMATCH,
                    format_text("rank %zu configured another batch than rank 0", rank)};
    }
    return {};
}

// Collective. A rank whose arguments are not valid takes part, so that the others do not wait.
Status open_over(ringrt_comm_t *comm, ringrt_checkpoint_t *checkpoint,
                 const ringrt_job_config_t *config, ringrt_job_t **out) {
    ringrt_comm_t *made = nullptr;
    const ringrt_status_t split = ringrt_comm_split(comm, 0, ringrt_comm_rank(comm), &made);
    if (split != RINGRT_OK) return {split, ringrt_comm_last_error(comm)};
    OwnComm own(made);
    CommunicatorGroup group(own->communicator, own->timeout_ms);
    Settings settings;
    Status valid = read_job_config(config, getenv, group.rank(), group.size(), settings);
    if (valid.ok()) valid = check_ranks(*comm, checkpoint, settings.live_resize != 0);
    RINGRT_TRY(agree(group, valid));
    RINGRT_TRY(agree_on_config(group, settings, checkpoint));
    settings.timeout_ms = own->timeout_ms;
    auto job = std::make_unique<ringrt_job>(std::move(own), std::move(settings), checkpoint);
    Status started = job->settings.live_resize ? make_resizer(*job) : Status{};
    if (started.ok()) started = job->job.start();
    CommunicatorGroup own_ranks(job->comm->communicator, job->comm->timeout_ms);
    RINGRT_TRY(agree(own_ranks, started));
    *out = job.release();
    return {};
}

}  // namespace

Status read_job_config(const ringrt_job_config_t *given, const Environment &environment, int rank,
                       int size, Settings &out) {
    ringrt_job_config_t config = RINGRT_JOB_CONFIG_INIT;
    RINGRT_TRY(copy_config(given, kConfigBytesMin, "JOB_CONFIG", config));
    ringrt_config_t all = RINGRT_CONFIG_INIT;
    all.rank = rank;
    all.size = size;
    all.transport = "tcp";  // as the communicator's; unused
    all.global_batch = config.global_batch;
    all.reference_size = config.reference_size;
    all.micro_batch_max = config.micro_batch_max;
    all.batch_rule = config.batch_rule;
    all.steps_total = config.steps_total;
    all.samples_total = config.samples_total;
    all.seed = config.seed;
    all.save_interval_s = config.save_interval_s;
    all.telemetry_s = config.telemetry_s;
    all.live_resize = config.live_resize;
    RINGRT_TRY(resolve(&all, environment, out));
    if (out.live_resize && !config.live_resize)
        return {RINGRT_UNSUPPORTED,
                "RINGRT_LIVE_RESIZE and RINGRT_EXTENDS need a program that sets "
                "config.live_resize: this one cannot be resized in place"};
    // The program must know the actions of saves in two parts, and the environment may forbid them.
    if (!config.background_saves) out.save_inline = 1;
    return {};
}

}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_job_open(ringrt_job_t **out, ringrt_comm_t *comm,
                                ringrt_checkpoint_t *checkpoint,
                                const ringrt_job_config_t *config) {
    return run_guarded(
        [&] {
            if (!out) return invalid("out is NULL");
            RINGRT_TRY(check_handle(comm));
            return open_over(comm, checkpoint, config, out);
        },
        [](Status outcome) { thread_error = std::move(outcome.message); });
}

ringrt_status_t ringrt_job_close(ringrt_job_t *job) {
    if (!job) return RINGRT_OK;
    if (job->pid != getpid()) return RINGRT_FORKED;  // the parent's state is not touched
    if (job->resizer) {
        std::unique_ptr<ringrt_job_t> owned(job);
        const ringrt_status_t closed =
            run_guarded([&] { return close_resizer(*job); },
                        [](Status outcome) { thread_error = std::move(outcome.message); });
        const std::unique_ptr<ringrt_comm_t> own(job->comm.release());  // without an abort
        owned.reset();
        return closed;
    }
    ringrt_comm_t *const comm = job->comm.release();
    const bool left = job->left;
    delete job;
    if (!left) return ringrt_comm_destroy(comm);
    comm->communicator.leave_to_exit();
    delete comm;
    return RINGRT_OK;
}

ringrt_status_t ringrt_job_abort(ringrt_job_t *job) {
    if (!job) return RINGRT_INVALID_ARGUMENT;
    if (job->pid != getpid()) return RINGRT_FORKED;
    (void)ringrt_comm_abort(job->comm.get());
    job->group.abort();  // a resize may have replaced that communicator
    return RINGRT_OK;
}

const char *ringrt_job_last_error(const ringrt_job_t *job) {
    return job ? job->error.get() : thread_error.c_str();
}

int ringrt_job_restarts(const ringrt_job_t *job) {
    return job ? static_cast<int>(std::min<uint32_t>(job->settings.restart, INT32_MAX)) : -1;
}

}  // extern "C"
