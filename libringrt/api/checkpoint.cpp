// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes a checkpoint handle.
#include "libringrt/api/checkpoint.h"

#include <cstddef>
#include <cstdlib>

#include "libringrt/base/config_struct.h"
#include "libringrt/job/settings.h"

namespace ringrt {
namespace {

// The struct's first version ended here, so no program passes a smaller one.
constexpr size_t kConfigBytesMin =
    offsetof(ringrt_checkpoint_config_t, reserved) + sizeof(ringrt_checkpoint_config_t::reserved);

// Collective. Rank 0 writes the manifest where the others write their shards.
Status agree_on_directory(Group &group, const CheckpointSettings &settings) {
    std::vector<uint64_t> all;
    RINGRT_TRY(gather(group, checkpoint::hash_text(settings.directory), all));
    for (size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all[0])
            return {RINGRT_MISMATCH,
                    format_text("rank %zu has another checkpoint directory than rank 0: configure "
                                "an absolute path",
                                rank)};
    return {};
}

// Collective. A rank whose settings are not valid takes part, so that the others do not wait.
Status open_over(ringrt_comm_t *comm, const ringrt_checkpoint_config_t *config,
                 ringrt_checkpoint_t **out) {
    ringrt_comm_t *made = nullptr;
    const ringrt_status_t split = ringrt_comm_split(comm, 0, ringrt_comm_rank(comm), &made);
    if (split != RINGRT_OK) return {split, ringrt_comm_last_error(comm)};
    OwnComm own(made);
    CommunicatorGroup group(own->communicator, own->timeout_ms);
    CheckpointSettings settings;
    RINGRT_TRY(agree(group, read_checkpoint_config(config, getenv, settings)));
    RINGRT_TRY(agree_on_directory(group, settings));
    checkpoint::Fence fence;
    RINGRT_TRY(checkpoint::make_fence(group, settings.job, settings.restart, fence));
    *out = new ringrt_checkpoint(std::move(own), settings, fence);
    return {};
}

}  // namespace

Status read_checkpoint_config(const ringrt_checkpoint_config_t *given,
                              const Environment &environment, CheckpointSettings &out) {
    ringrt_checkpoint_config_t config = RINGRT_CHECKPOINT_CONFIG_INIT;
    RINGRT_TRY(copy_config(given, kConfigBytesMin, "CHECKPOINT_CONFIG", config));
    if (config.reserved != 0)
        return {RINGRT_INVALID_ARGUMENT, "config has fields that this libringrt does not support"};
    SlurmIdentity slurm;
    (void)slurm_identity(environment, &slurm);  // the communicator has checked rank and size
    out.job = slurm.job;
    RINGRT_TRY(read_base_job(environment, out.is_extension, out.job));
    out.restart = slurm.restart;
    RINGRT_TRY(read_number(kKeepCheckpoints, environment, config.keep));
    out.keep = config.keep;
    return read_checkpoint_directory(config.directory, environment, out.job, out.directory);
}

}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_checkpoint_open(ringrt_checkpoint_t **out, ringrt_comm_t *comm,
                                       const ringrt_checkpoint_config_t *config) {
    return run_guarded(
        [&] {
            if (!out) return invalid("out is NULL");
            RINGRT_TRY(check_handle(comm));
            return open_over(comm, config, out);
        },
        [](Status outcome) { thread_error = std::move(outcome.message); });
}

ringrt_status_t ringrt_checkpoint_close(ringrt_checkpoint_t *checkpoint) {
    if (!checkpoint) return RINGRT_OK;
    if (checkpoint->pid != getpid()) return RINGRT_FORKED;  // the parent's state is not touched
    if (checkpoint->busy)
        return guard(checkpoint, [] { return invalid("a callback may not close its handle"); });
    if (checkpoint->job)
        return guard(checkpoint, [] { return invalid("ringrt_job_close() comes first"); });
    checkpoint->saver.abandon();  // a save that was not ended
    ringrt_comm_t *comm = checkpoint->comm.release();
    delete checkpoint;
    return ringrt_comm_destroy(comm);
}

ringrt_status_t ringrt_checkpoint_abort(ringrt_checkpoint_t *checkpoint) {
    if (!checkpoint) return RINGRT_INVALID_ARGUMENT;
    if (checkpoint->pid != getpid()) return RINGRT_FORKED;
    return ringrt_comm_abort(checkpoint->comm.get());
}

const char *ringrt_checkpoint_last_error(const ringrt_checkpoint_t *checkpoint) {
    return checkpoint ? checkpoint->error.get() : thread_error.c_str();
}

}  // extern "C"
