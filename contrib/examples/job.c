/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A malleable job of three handles: a communicator, checkpoints and the job. It adds the squares of
 * all samples' positions, so a sample that is lost or used twice over the resizes changes the sum.
 *
 *     sbatch --malleable=1:4 --wrap "srun ./job 1000 20"     # 1000 steps of 20 ms on 1 GPU
 *
 * It is resized in place where the scheduler can (RINGRT_LIVE_RESIZE=1 sbatch …), and otherwise by
 * a requeue.
 */
#define _DEFAULT_SOURCE /* usleep */
#include <inttypes.h>
#include <ringrt_job.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kBatch = 30 };

static ringrt_comm_t *comm;
static ringrt_checkpoint_t *checkpoint;
static ringrt_job_t *job;
static int is_saving;
static uint64_t saving_step;
static int64_t sum; /* registered, so the library sends it to ranks that join */

static void fail(ringrt_status_t status, const char *line) {
    fprintf(stderr, "%s: %s\n", ringrt_status_string(status), line);
    exit(1);
}
static void must(ringrt_status_t status) {
    if (status != RINGRT_OK) fail(status, ringrt_job_last_error(job));
}
static int is_lost(ringrt_status_t status) {
    return status == RINGRT_PEER_LOST || status == RINGRT_TIMEOUT;
}

/* Does what the job asks for after a step. While a save is under way, the training continues. */
static ringrt_status_t serve(ringrt_action_t *action, uint64_t step) {
    ringrt_status_t status = RINGRT_OK;
    if (*action == RINGRT_SAVE_BEGIN) {
        *action = RINGRT_CONTINUE;
        is_saving = 1;
        saving_step = step;
        return ringrt_job_saving(job, ringrt_checkpoint_save_begin(checkpoint, step));
    }
    if (*action == RINGRT_SAVE_END) {
        is_saving = 0;
        const ringrt_status_t saved = ringrt_checkpoint_save_end(checkpoint);
        if (saved == RINGRT_OK && ringrt_comm_rank(comm) == 0)
            printf("saved step %" PRIu64 " until step %" PRIu64 "\n", saving_step, step);
        status = ringrt_job_saved(job, saved, action);
    }
    if (status == RINGRT_OK && *action == RINGRT_SAVE) /* also after SAVE_END, if a resize waits */
        status = ringrt_job_saved(job, ringrt_checkpoint_save(checkpoint, step), action);
    return status;
}

/* Ranks have joined or left, or a rank of an extension is lost. The program has no state besides
 * what is registered; it would broadcast that from root. */
static void resize(uint64_t *step) {
    ringrt_comm_abort(comm); /* ends the calls of ranks that do not know yet */
    ringrt_comm_destroy(comm);
    comm = NULL;
    is_saving = 0;
    int root = -1;
    const ringrt_status_t status = ringrt_job_resize(job, &comm, step, &root);
    if (status == RINGRT_ABORTED) exit(0); /* asked to leave before it has joined */
    must(status);
    if (!comm || ringrt_comm_rank(comm) != 0) return;
    printf("resized at step %" PRIu64 " to %d ranks\n", *step, ringrt_comm_size(comm));
    fflush(stdout);
}

/* One step: this rank's samples of the batch, summed over the ranks. */
static ringrt_status_t train(unsigned long step_ms) {
    ringrt_batch_t batch;
    must(ringrt_job_batch(job, &batch));
    int64_t mine = 0;
    for (uint64_t i = 0; i < batch.count; ++i) {
        const uint64_t position = batch.samples_seen + batch.first + i;
        mine += (int64_t)(position * position);
    }
    usleep((useconds_t)(1000 * step_ms * batch.count / batch.global));
    const ringrt_status_t summed =
        ringrt_comm_allreduce(&mine, &mine, 1, RINGRT_INT64, RINGRT_SUM, comm, NULL);
    if (summed != RINGRT_OK && !is_lost(summed)) fail(summed, ringrt_comm_last_error(comm));
    if (summed == RINGRT_OK) sum += mine; /* only now: a step is done whole, or again */
    return summed;
}

/* Continues from the newest checkpoint, if there is one. An extension begins by joining instead. */
static ringrt_action_t start(uint64_t steps, uint64_t *step) {
    ringrt_status_t status = ringrt_checkpoint_open(&checkpoint, comm, NULL);
    if (status != RINGRT_OK) fail(status, ringrt_checkpoint_last_error(NULL));
    ringrt_job_config_t config = RINGRT_JOB_CONFIG_INIT;
    config.global_batch = kBatch;
    config.steps_total = steps;
    config.background_saves = 1;
    config.live_resize = 1;
    must(ringrt_job_open(&job, comm, checkpoint, &config));
    status = ringrt_checkpoint_register(checkpoint, "sum", &sum, RINGRT_INT64, 0, NULL);
    if (status == RINGRT_OK && ringrt_job_is_extension(job)) return RINGRT_RESIZE;
    if (status == RINGRT_OK) status = ringrt_checkpoint_restore(checkpoint, step);
    if (status != RINGRT_OK && status != RINGRT_NOT_FOUND) /* not found: a first start */
        fail(status, ringrt_checkpoint_last_error(checkpoint));
    if (ringrt_comm_rank(comm) == 0)
        printf("start at step %" PRIu64 " on %d ranks\n", *step, ringrt_comm_size(comm));
    fflush(stdout);
    return RINGRT_CONTINUE;
}

/* Trains until the last step, or until this rank leaves. */
static ringrt_action_t run(uint64_t steps, unsigned long step_ms, uint64_t *step) {
    ringrt_action_t action = start(steps, step);
    while (action == RINGRT_RESIZE || (*step < steps && action != RINGRT_LEAVE)) {
        if (action == RINGRT_RESIZE) {
            resize(step);
            if (!comm) break; /* the others have ended */
            action = RINGRT_CONTINUE;
            continue;
        }
        ringrt_status_t status = train(step_ms);
        if (status == RINGRT_OK) status = ringrt_job_step(job, ++*step, &action);
        if (status == RINGRT_OK) status = serve(&action, *step);
        if (is_lost(status))
            action = RINGRT_RESIZE;
        else
            must(status);
    }
    if (is_saving && action == RINGRT_CONTINUE) {
        const ringrt_status_t status = serve(&(ringrt_action_t){RINGRT_SAVE_END}, *step);
        if (!is_lost(status)) must(status);
    }
    return action;
}

int main(int argc, char **argv) {
    const uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    const unsigned long step_ms = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
    if (ringrt_comm_create(&comm, NULL) != RINGRT_OK) { /* rank and size come from srun */
        fprintf(stderr, "%s\n", ringrt_comm_last_error(NULL));
        return 1;
    }
    uint64_t step = 0;
    const ringrt_action_t action = run(steps, step_ms, &step);
    if (ringrt_comm_rank(comm) == 0)
        printf("%s at step %" PRIu64 " on %d ranks: the sum is %" PRId64 "\n",
               action == RINGRT_LEAVE ? "left" : "ended", step, ringrt_comm_size(comm), sum);
    fflush(stdout);
    const int left = action == RINGRT_LEAVE; /* the ranks end one by one: none waits for another */
    must(ringrt_job_close(job));
    if (left) return 0;
    job = NULL;
    (void)ringrt_checkpoint_close(checkpoint); /* an extension's ranks may have ended before */
    (void)ringrt_comm_destroy(comm);
    return 0;
}
