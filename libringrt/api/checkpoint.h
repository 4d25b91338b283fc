// SPDX-License-Identifier: BSD-3-Clause
// What a ringrt_checkpoint_t holds, and how its functions run.
#pragma once

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libringrt/api/comm.h"
#include "libringrt/api/communicator_group.h"
#include "libringrt/api/guard.h"
#include "libringrt/api/registered.h"
#include "libringrt/api/sent_blobs.h"
#include "libringrt/checkpoint/before_save.h"
#include "libringrt/checkpoint/load.h"
#include "libringrt/checkpoint/save.h"
#include "libringrt/ringrt_checkpoint.h"

namespace ringrt {

namespace job {
class Job;
}

struct CloseComm {
    void operator()(ringrt_comm_t *comm) const {
        (void)ringrt_comm_abort(comm);
        (void)ringrt_comm_destroy(comm);
    }
};
using OwnComm = std::unique_ptr<ringrt_comm_t, CloseComm>;

struct CheckpointSettings {
    std::string directory;
    uint32_t keep = 0;
    uint64_t job = 0;  // an extension's: the base's
    uint32_t restart = 0;
    bool is_extension = false;
};

// Resolves the caller's config, the environment and the defaults.
Status read_checkpoint_config(const ringrt_checkpoint_config_t *config,
                              const Environment &environment, CheckpointSettings &out);

}  // namespace ringrt

struct ringrt_checkpoint {
    ringrt_checkpoint(ringrt::OwnComm own, const ringrt::CheckpointSettings &settings,
                      ringrt::checkpoint::Fence fence)
        : comm(std::move(own)),
          group(comm->communicator, comm->timeout_ms),
          store(ringrt::checkpoint::real_files(), settings.directory, fence, settings.keep),
          saver(group, store, {}),
          registered({.rank = [this] { return group.rank(); },
                      .stream = [this] { return stream; },
                      .watch = [this] { return group.outcome(comm->communicator.watch()); },
                      .another = [] { return ringrt::find_gpu(); },
                      .timeout_ms = comm->timeout_ms}),
          is_outside(settings.is_extension) {}

    // Its ranks from now on; without a save under way.
    void use(ringrt::OwnComm present) {
        comm = std::move(present);
        group.use(comm->communicator, false);
        is_outside = false;
    }

    const pid_t pid = getpid();
    mutable ringrt::ErrorLine error;
    ringrt::OwnComm comm;
    ringrt::CommunicatorGroup group;
    ringrt::checkpoint::Store store;
    ringrt::checkpoint::Saver saver;
    void *stream = nullptr;  // ringrt_checkpoint_set_stream()'s
    ringrt::Registered registered;
    ringrt::Blobs blobs;
    std::vector<std::byte> read_blob;  // ringrt_checkpoint_get_blob()'s
    ringrt::checkpoint::BeforeSave before_save;
    ringrt::checkpoint::ProgramSaver program;
    // The restored checkpoint, until the first save.
    std::optional<ringrt::checkpoint::Rest> restored;
    // Of the last resize in place, until a save or restore. They hide what was restored before.
    std::optional<ringrt::SentBlobs> sent;
    bool busy = false;                // in a collective call, which may run callbacks
    bool is_used = false;             // it has saved or restored
    bool is_outside;                  // of an extension that has never joined its base
    bool is_live = false;             // its job is resized in place: each rank holds every tensor
    bool is_complete = false;         // and no more tensors can be registered
    ringrt::job::Job *job = nullptr;  // ringrt_job_open()'s, whose progress is saved as well
};

namespace ringrt {

inline Status check_handle(const ringrt_checkpoint_t *checkpoint) {
    if (!checkpoint) return invalid("the checkpoint handle is NULL");
    if (checkpoint->pid != getpid())
        return {RINGRT_FORKED,
                "this checkpoint handle belongs to the process that fork()ed this one"};
    if (checkpoint->comm->aborted) return {RINGRT_ABORTED, "ringrt_checkpoint_abort() was called"};
    return {};
}

// Runs one call on a handle. A failure leaves one line for last_error().
template <typename Body>
ringrt_status_t guard(const ringrt_checkpoint_t *checkpoint, Body &&body) noexcept {
    return run_guarded(
        [&] {
            Status valid = check_handle(checkpoint);
            return valid.ok() ? body() : valid;
        },
        [&](Status outcome) {
            if (checkpoint)
                checkpoint->error.keep(std::move(outcome.message));
            else
                thread_error = std::move(outcome.message);
        });
}

}  // namespace ringrt
