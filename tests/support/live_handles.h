// SPDX-License-Identifier: BSD-3-Clause
// A LiveTraining whose ranks use the handles on their own (ringrt_job.h). The library sends `w` to
// ranks that join, if there is a checkpoint handle; the program broadcasts the rest of its state.
#pragma once

#include "libringrt/ringrt_job.h"
#include "tests/support/live_blobs.h"
#include "tests/support/live_job.h"

namespace ringrt::test {

class LiveHandles : public LiveTraining {
  public:
    bool has_checkpoint = true;
    uint64_t save_every = 0;  // steps from one save in two parts to the next
    uint64_t save_for = 3;    // steps, if no end is asked for
    size_t ballast = 1;       // doubles that make a save longer
    bool in_blobs = false;    // the program's own state is in blobs; the library sends them, too
    // Whether this rank's sum of a step fails, as by a loss that other ranks have not met.
    std::function<bool(int job, int rank, uint64_t step, int size)> loses =
        [](int, int, uint64_t, int) { return false; };
    // Before an extension joins, and at the start of the base.
    std::function<void(ringrt_checkpoint_t *, bool is_extension)> first = [](auto *, bool) {};

    LiveHandles() {
        program = [this](int job, int rank, int size, bool other) {
            set_environment(job, rank, size);
            Program one(*this, job, rank, other);
            return one.run(size);
        };
    }

  private:
    struct Program {
        Program(LiveHandles &all, int in_job, int of_rank, bool is_other)
            : training(all), number(in_job), rank(of_rank), other(is_other) {}

        LiveHandles &training;
        const int number, rank;
        const bool other;
        ringrt_comm_t *comm = nullptr;
        ringrt_checkpoint_t *checkpoint = nullptr;
        ringrt_job_t *job = nullptr;
        std::vector<float> w = std::vector<float>(training.floats, 1.0F);
        std::vector<float> momentum = std::vector<float>(training.floats);
        std::vector<double> ballast = std::vector<double>(training.ballast);
        uint64_t done = 0;  // steps, as part of the program's own state
        uint64_t step = 0, saving_since = 0;
        bool is_saving = false, has_lost = false;

        [[nodiscard]] int failed(const char *what, ringrt_status_t status) const {
            const std::string of_job = ringrt_job_last_error(job),
                              of_comm = ringrt_comm_last_error(comm);
            fprintf(stderr, "job %d rank %d: %s: %s | %s | %s\n", number, rank, what,
                    of_job.c_str(), of_comm.c_str(), ringrt_checkpoint_last_error(checkpoint));
            return kFailed + static_cast<int>(status);
        }

        int run(int size) {
            if (const ringrt_status_t status = open(size); status != RINGRT_OK)
                return failed("open", status);
            const bool is_extension = ringrt_job_is_extension(job) == 1;
            training.first(checkpoint, is_extension);
            ringrt_action_t action = is_extension ? RINGRT_RESIZE : RINGRT_CONTINUE;
            while (action == RINGRT_RESIZE ||
                   (step < training.last_step() && action != RINGRT_LEAVE)) {
                if (action == RINGRT_RESIZE) {
                    const ringrt_status_t resized = resize();
                    if (resized != RINGRT_OK) return failed("resize", resized);
                    if (!comm && done != step) return failed("the end", RINGRT_CORRUPT);
                    if (!comm) break;
                    if (share() == RINGRT_OK) action = RINGRT_CONTINUE;
                    continue;
                }
                ringrt_status_t status = train();
                if (status == RINGRT_OK) status = ringrt_job_step(job, ++step, &action);
                if (status == RINGRT_OK) status = serve(action);
                has_lost = status == RINGRT_PEER_LOST;
                if (has_lost) {
                    training.note_recovery(number);
                    action = RINGRT_RESIZE;
                } else if (status != RINGRT_OK) {
                    return failed("training", status);
                }
                if (action == RINGRT_CONTINUE)
                    training.note_step(number, rank, ringrt_comm_size(comm), step);
            }
            return close(action == RINGRT_LEAVE);
        }

        ringrt_status_t open(int size) {
            const std::string directory = training.checkpoints();
            const std::string meet = directory + ".start-" + std::to_string(number);
            ringrt_comm_config_t ranks = RINGRT_COMM_CONFIG_INIT;
            ranks.rank = rank, ranks.size = size;
            ranks.rendezvous = meet.c_str();
            ranks.timeout_ms = 20000;
            ranks.start_timeout_ms = training.start_timeout_ms;
            ringrt_status_t status = ringrt_comm_create(&comm, &ranks);
            setenv("RINGRT_CHECKPOINT_DIR", directory.c_str(), 1);
            if (status == RINGRT_OK && training.has_checkpoint)
                status = ringrt_checkpoint_open(&checkpoint, comm, nullptr);
            ringrt_job_config_t config = RINGRT_JOB_CONFIG_INIT;
            config.global_batch = kBatch;
            config.live_resize = 1;
            config.background_saves = 1;
            if (status == RINGRT_OK) status = ringrt_job_open(&job, comm, checkpoint, &config);
            if (status != RINGRT_OK || !checkpoint) return status;
            const uint64_t floats[] = {w.size()}, doubles[] = {ballast.size()};
            (void)ringrt_checkpoint_register(checkpoint, "w", w.data(), RINGRT_FLOAT32, 1, floats);
            (void)ringrt_checkpoint_register(checkpoint, "ballast", ballast.data(), RINGRT_FLOAT64,
                                             1, doubles);
            if (other)
                (void)ringrt_checkpoint_register(checkpoint, "other", momentum.data(),
                                                 RINGRT_FLOAT32, 1, floats);
            return RINGRT_OK;
        }

        // The blobs must be of the last step when the library sends or saves them.
        void set_blobs() {
            if (training.in_blobs) LiveBlobs(checkpoint).set(done, momentum);
        }

        int root = -1;
        ringrt_status_t resize() {
            set_blobs();
            (void)ringrt_comm_abort(comm);
            (void)ringrt_comm_destroy(comm);
            comm = nullptr;
            if (is_saving && !has_lost) return RINGRT_CHECKPOINT_FAILED;  // it is given up
            is_saving = false;
            return ringrt_job_resize(job, &comm, &step, &root);
        }

        // The state that the library does not send.
        ringrt_status_t share() {
            if (training.in_blobs) {
                LiveBlobs(checkpoint).get(root, done, momentum);
            } else if (root >= 0) {
                auto broadcast = [&](void *data, size_t bytes) {
                    return ringrt_comm_broadcast(data, data, bytes, RINGRT_UINT8, root, comm,
                                                 nullptr);
                };
                ringrt_status_t sent = broadcast(momentum.data(), momentum.size() * sizeof(float));
                if (sent == RINGRT_OK && !checkpoint)
                    sent = broadcast(w.data(), w.size() * sizeof(float));
                if (sent == RINGRT_OK) sent = broadcast(&done, sizeof done);
                if (sent != RINGRT_OK) return RINGRT_PEER_LOST;
            }
            if (done == step) return RINGRT_OK;
            fprintf(stderr, "the state is of step %zu, not %zu\n", size_t(done), size_t(step));
            _exit(249);
        }

        ringrt_status_t train() {
            ringrt_batch_t batch;
            if (ringrt_job_batch(job, &batch) != RINGRT_OK) return RINGRT_UNSUPPORTED;
            if (batch.samples_seen != step * kBatch) return RINGRT_UNSUPPORTED;
            std::vector<float> g(w.size());
            for (size_t j = 0; j < g.size() && batch.count > 0; ++j)
                g[j] = tree_gradient(batch.samples_seen + batch.first, batch.count, j, w[j],
                                     training.exact);
            if (training.pause_us > 0) usleep(static_cast<useconds_t>(training.pause_us));
            const ringrt_status_t summed = ringrt_comm_allreduce(
                g.data(), g.data(), g.size(), RINGRT_FLOAT32, RINGRT_SUM, comm, nullptr);
            if (summed != RINGRT_OK) return summed;
            if (training.loses(number, rank, step, ringrt_comm_size(comm))) return RINGRT_PEER_LOST;
            update(w, momentum, g);
            ++done;
            return RINGRT_OK;
        }

        ringrt_status_t serve(ringrt_action_t &action) {
            if (action == RINGRT_RESIZE || action == RINGRT_LEAVE) return RINGRT_OK;
            const uint64_t every = training.save_every;
            if (action == RINGRT_CONTINUE && every > 0) {
                if (is_saving && step >= saving_since + training.save_for) action = RINGRT_SAVE_END;
                if (!is_saving && step % every == 0) action = RINGRT_SAVE_BEGIN;
            }
            if (action == RINGRT_SAVE_BEGIN) {
                action = RINGRT_CONTINUE;
                set_blobs();
                const ringrt_status_t begun = ringrt_checkpoint_save_begin(checkpoint, step);
                is_saving = begun == RINGRT_OK, saving_since = step;
                return ringrt_job_saving(job, begun);
            }
            ringrt_status_t status = RINGRT_OK;
            if (action == RINGRT_SAVE_END) {
                is_saving = false;
                const ringrt_status_t saved = ringrt_checkpoint_save_end(checkpoint);
                if (training.in_blobs && saved == RINGRT_OK) LiveBlobs(checkpoint).expect_none();
                if (saved == RINGRT_MISMATCH) return saved;
                status = ringrt_job_saved(job, saved, &action);
            }
            if (status == RINGRT_OK && action == RINGRT_SAVE)
                status = ringrt_job_saved(
                    job, checkpoint ? ringrt_checkpoint_save(checkpoint, step) : RINGRT_OK,
                    &action);
            return status;
        }

        int close(bool left) {
            if (!left) training.write_weights(number, rank, w);
            if (!left) training.note_step(number, rank, ringrt_comm_size(comm), step);
            const ringrt_status_t closed = ringrt_job_close(job);
            job = nullptr;
            if (closed != RINGRT_OK) return failed("close", closed);
            (void)ringrt_checkpoint_close(checkpoint);
            (void)ringrt_comm_destroy(comm);
            return left ? kHasLeft : kTrained;
        }
    };
};

}  // namespace ringrt::test
