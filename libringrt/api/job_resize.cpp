// SPDX-License-Identifier: BSD-3-Clause
// Resizing a job handle in place (doc/job.md). The job's own communicators are a stack
// (live/resizer.h). The program's one, and that of the checkpoint handle, are spares of the present
// one, which have formed with it beside training.
#include "libringrt/api/job.h"

namespace ringrt {
namespace {

using checkpoint::Buffer;

const std::vector<Buffer> &buffers_of(const ringrt_job_t &job) {
    return job.checkpoint ? job.checkpoint->registered.buffers() : job.no_buffers;
}

const std::string &directory_of(const ringrt_job_t &job) {
    return job.checkpoint ? job.checkpoint->store.directory() : job.settings.checkpoint_dir;
}

// A base and an extension that run different programs must not meet.
std::string kind_of(const ringrt_job_t &job) {
    return format_text("handles, blobs %d %u", int{job.checkpoint != nullptr},
                       job.settings.save_inline);
}

// None is left if this rank failed after it had taken one: to the others it is lost.
Status take_comm(ringrt_job_t &job, OwnComm &out) {
    std::shared_ptr<Communicator> spare = job.resizer->take_spare();
    if (!spare) return {RINGRT_PEER_LOST, "the handles have used the present ranks' communicators"};
    out.reset(new ringrt_comm(std::move(spare), job.comm->timeout_ms, job.comm->start_timeout_ms));
    return {};
}

// A save that was under way is not committed: its ranks are others now, or lost.
void give_up_saves(ringrt_job_t &job) {
    job.saves.give_up();
    job.written = false;
    if (!job.checkpoint) return;
    (void)ringrt_comm_abort(job.checkpoint->comm.get());  // ends the calls of other ranks
    job.checkpoint->saver.abandon();
}

Status recover(ringrt_job_t &job) {
    const char *const lost = job.live.what_is_lost();
    live::Position position = job.live.position();
    RINGRT_TRY(job.resizer->recover(position));
    job.live.go_on_from(position, lost);
    return {};
}

// Once: the ranks may still lose one.
Status form(ringrt_job_t &job, OwnComm &made) {
    if (job.resizer->must_recover()) RINGRT_TRY(recover(job));
    if (job.resizer->has_ended()) return {};
    RINGRT_TRY(take_comm(job, made));
    OwnComm of_checkpoint;
    if (job.checkpoint) RINGRT_TRY(take_comm(job, of_checkpoint));
    if (!of_checkpoint) return {};
    job.checkpoint->use(std::move(of_checkpoint));
    return send_blobs(job.group.communicator(), job.resizer->newest_rank(), job.checkpoint->blobs,
                      job.checkpoint->sent.emplace());
}

bool is_loss(const Status &outcome) {
    return outcome.code == RINGRT_PEER_LOST || outcome.code == RINGRT_TIMEOUT;
}

Status resize(ringrt_job_t &job, ringrt_comm_t *&comm, uint64_t &step, int &root) {
    if (!job.resizer) return invalid("config.live_resize was not set");
    if (job.checkpoint && job.checkpoint->busy) return invalid("a callback may not resize the job");
    if (job.checkpoint) job.checkpoint->is_complete = true;
    give_up_saves(job);
    Status outcome;
    OwnComm made;
    bool is_told = !job.must_resize;  // of a loss, by the program
    job.must_resize = true;
    do {
        if (is_told) job.resizer->lose();
        if (is_told && !job.resizer->must_recover()) {
            if (outcome.ok())
                outcome = {RINGRT_PEER_LOST,
                           "no extension is there: a rank of the base is lost, and its job cannot "
                           "go on"};
            return outcome;
        }
        made.reset();
        outcome = form(job, made);
        is_told = true;
    } while (is_loss(outcome) && !job.resizer->is_outside() && !job.resizer->is_released());
    RINGRT_TRY(std::move(outcome));
    job.must_resize = false;
    comm = made.release();
    step = job.job.step();
    root = job.resizer->newest_rank();
    go_on(job);
    return {};
}

}  // namespace

Status make_resizer(ringrt_job_t &job) {
    if (const int made = checkpoint::make_directories(checkpoint::real_files(), directory_of(job));
        made < 0)  // ranks meet in files there
        return checkpoint::write_failure(made, directory_of(job));
    live::ResizerOptions options = job.live.resizer_options();
    options.directory = directory_of(job);
    options.start_timeout_ms = job.comm->start_timeout_ms;
    options.use = [&job](Communicator &present) {
        const bool is_own = &present == &job.comm->communicator;
        job.group.use(present, job.settings.is_extension && is_own);
    };
    options.asked_to_leave = [&job] { return job.comm->aborted || job.live.asked_to_leave(); };
    options.layout = [&job] { return job.live.layout_hash(buffers_of(job), kind_of(job)); };
    options.gpu = [] { return -1; };  // NCCL starts with the program's communicator
    options.spares = job.checkpoint ? 2 : 1;
    job.resizer = std::make_unique<live::Resizer>(std::move(options), job.comm->communicator,
                                                  buffers_of(job), job.no_rows);
    job.live.use(job.resizer.get());
    return job.live.start();
}

Status close_resizer(ringrt_job_t &job) {
    if (job.left) job.group.communicator().leave_to_exit();
    if (job.left || job.comm->aborted || job.resizer->is_outside()) return {};
    job.job.stop_reports();
    const bool is_last = job.live.finish();
    Communicator &present = job.group.communicator();
    if (!is_last || present.failure() != RINGRT_OK) return {};
    return job.group.outcome(present.finish());
}

}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_job_resize(ringrt_job_t *job, ringrt_comm_t **comm, uint64_t *step,
                                  int *root) {
    return collective(job, [&] {
        if (!comm || !step || !root) return invalid("comm, step or root is NULL");
        return resize(*job, *comm, *step, *root);
    });
}

int ringrt_job_is_extension(const ringrt_job_t *job) {
    return job ? int{job->settings.is_extension} : -1;
}

}  // extern "C"
