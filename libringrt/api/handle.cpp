// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys a handle.
#include "libringrt/api/handle.h"

#include <algorithm>
#include <cstdlib>

namespace ringrt {

CommunicatorConfig communicator_config(const Settings &settings) {
    return {.rank = settings.rank,
            .size = settings.size,
            .local_rank = settings.local_rank,
            .rendezvous = settings.rendezvous,
            .rendezvous_dir = settings.checkpoint_dir,
            .allgather = settings.allgather,
            .allgather_context = settings.allgather_context,
            .messenger = settings.transport == "mpi" ? settings.messenger : nullptr,
            .timeout_ms = settings.timeout_ms,
            .start_timeout_ms = settings.start_timeout_ms,
            .warn = log_line};
}

namespace {

void make_resizer(ringrt_t &rt) {
    live::ResizerOptions options = rt.boundary->resizer_options();
    options.use = [&rt](Communicator &present) {
        const bool outside = rt.settings.is_extension && &present == &rt.own;
        rt.group.use(present, outside);
        if (rt.reducer) rt.reducer->use(present);
        if (!outside) (void)present.set_stream(rt.stream);  // its calls report a failure
    };
    options.asked_to_leave = [&rt] { return rt.aborted || rt.boundary->asked_to_leave(); };
    options.layout = [&rt] { return rt.boundary->layout_hash(); };
    options.gpu = [&rt] { return rt.registered.gpu(); };
    rt.resizer = std::make_unique<live::Resizer>(std::move(options), rt.own,
                                                 rt.registered.buffers(), rt.rows);
    rt.boundary->set_resizer(rt.resizer.get());
}

Status start(ringrt_t &rt) {
    using namespace checkpoint;
    if (Status caught = rt.file_limit.start(SIGXFSZ); !caught.ok()) return caught;
    if (rt.settings.size > 1 && !rt.settings.allgather)  // ranks meet in a file there
        if (int made = make_directories(real_files(), rt.settings.checkpoint_dir); made < 0)
            return write_failure(made, rt.settings.checkpoint_dir);
    Fence fence;
    if (!rt.settings.is_extension) {
        if (Status met = rt.group.outcome(rt.own.start()); !met.ok()) return met;
        RINGRT_TRY(make_fence(rt.group, rt.settings.job, rt.settings.restart, fence));
    } else {
        rt.alone = std::make_unique<Communicator>(CommunicatorConfig{.rank = 0, .size = 1});
        if (Status made = rt.group.outcome(rt.alone->start()); !made.ok()) return made;
    }
    rt.boundary =
        std::make_unique<StepBoundary>(rt.settings, rt.group, fence, rt.registered.buffers());
    if (rt.settings.live_resize) make_resizer(rt);
    return rt.boundary->start();
}

}  // namespace
}  // namespace ringrt

using namespace ringrt;

extern "C" {

int ringrt_version(void) { return RINGRT_VERSION; }

const char *ringrt_status_string(ringrt_status_t status) {
    switch (status) {
        case RINGRT_OK:
            return "ok";
        case RINGRT_NOT_FOUND:
            return "not found";
        case RINGRT_INVALID_ARGUMENT:
            return "invalid argument";
        case RINGRT_TIMEOUT:
            return "timed out";
        case RINGRT_PEER_LOST:
            return "peer lost";
        case RINGRT_MISMATCH:
            return "mismatch";
        case RINGRT_NO_MEMORY:
            return "out of memory";
        case RINGRT_SYSTEM_ERROR:
            return "system error";
        case RINGRT_CHECKPOINT_FAILED:
            return "checkpoint failed";
        case RINGRT_CORRUPT:
            return "corrupt";
        case RINGRT_SUPERSEDED:
            return "superseded";
        case RINGRT_ABORTED:
            return "aborted";
        case RINGRT_FORKED:
            return "used after fork";
        case RINGRT_UNSUPPORTED:
            return "unsupported";
    }
    return "unknown status";
}

const char *ringrt_last_error(const ringrt_t *rt) {
    return rt ? rt->error.get() : thread_error.c_str();
}

ringrt_status_t ringrt_init(ringrt_t **out, const ringrt_config_t *config) {
    return run_guarded(
        [&] {
            if (!out) return invalid("out is NULL");
            Settings settings;
            if (Status resolved = resolve(config, getenv, settings); !resolved.ok())
                return resolved;
            auto rt = std::make_unique<ringrt_runtime>(std::move(settings));
            if (Status started = start(*rt); !started.ok()) return started;
            *out = rt.release();
            return Status{};
        },
        [](Status outcome) { keep_error(nullptr, std::move(outcome.message)); });
}

ringrt_status_t ringrt_finalize(ringrt_t *rt) {
    if (!rt) return RINGRT_OK;
    if (rt->pid != getpid()) return RINGRT_FORKED;  // the parent's state must not be touched
    if (rt->reducer && !rt->reducer->idle()) rt->group.abort();  // no rank waits for it
    const std::unique_ptr<ringrt_t> owned(rt);
    return run_guarded(
        [&] {
            if (rt->left) {
                rt->reducer.reset();  // it uses the GPU
                rt->communicator().leave_to_exit();
            }
            if (rt->left || rt->aborted) return Status{};
            Status finished = rt->boundary->finish();
            if (rt->resizer && !rt->boundary->finish_resizing()) return finished;
            Status parted = rt->group.outcome(rt->communicator().finish());
            return finished.ok() ? parted : finished;
        },
        [](Status outcome) { keep_error(nullptr, std::move(outcome.message)); });
}

ringrt_status_t ringrt_abort(ringrt_t *rt) {
    if (!rt) return RINGRT_INVALID_ARGUMENT;
    if (rt->pid != getpid()) return RINGRT_FORKED;
    rt->aborted = true;
    rt->group.abort();
    return RINGRT_OK;
}

int ringrt_rank(const ringrt_t *rt) { return rt ? rt->group.rank() : -1; }
int ringrt_size(const ringrt_t *rt) { return rt ? rt->group.size() : -1; }
int ringrt_local_rank(const ringrt_t *rt) {
    if (!rt) return -1;
    if (rt->resizer && rt->settings.local_rank >= 0) return rt->settings.local_rank;
    return rt->communicator().local_rank();
}
int ringrt_restarts(const ringrt_t *rt) {
    return rt ? static_cast<int>(std::min<uint32_t>(rt->settings.restart, INT32_MAX)) : -1;
}

}  // extern "C"
