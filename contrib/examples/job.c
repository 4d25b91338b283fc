/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A malleable job of three handles: a communicator, checkpoints and the job. It adds the squares of
 * all samples' positions, so a sample that is lost or used twice over the resizes changes the sum.
 *
 *     sbatch --malleable=1:4 --wrap "srun ./job 1000 20"     # 1000 steps of 20 ms on 1 GPU
 */
#define _DEFAULT_SOURCE /* usleep */
#include <inttypes.h>
#include <ringrt_job.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kBatch = 30 };

static ringrt_checkpoint_t *checkpoint;
static ringrt_job_t *job;
static int is_saving;

static void fail(ringrt_status_t status, const char *line) {
    fprintf(stderr, "%s: %s\n", ringrt_status_string(status), line);
    exit(1);
}
static void must(ringrt_status_t status) {
    if (status != RINGRT_OK) fail(status, ringrt_job_last_error(job));
}

/* Does what the job asks for after a step. While a save is under way, the training continues. */
static ringrt_action_t serve(ringrt_action_t action, uint64_t step) {
    if (action == RINGRT_SAVE_BEGIN) {
        must(ringrt_job_saving(job, ringrt_checkpoint_save_begin(checkpoint, step)));
        is_saving = 1;
        return RINGRT_CONTINUE;
    }
    if (action == RINGRT_SAVE_END) {
        must(ringrt_job_saved(job, ringrt_checkpoint_save_end(checkpoint), &action));
        is_saving = 0;
    }
    if (action == RINGRT_SAVE) /* also after the end of a save, if a resize waits */
        must(ringrt_job_saved(job, ringrt_checkpoint_save(checkpoint, step), &action));
    return action;
}

/* One step: this rank's samples of the batch, summed over the ranks. */
static void train(ringrt_comm_t *comm, unsigned long step_ms, int64_t *sum) {
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
    if (summed != RINGRT_OK) fail(summed, ringrt_comm_last_error(comm));
    *sum += mine;
}

int main(int argc, char **argv) {
    const uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    const unsigned long step_ms = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
    ringrt_comm_t *comm;
    if (ringrt_comm_create(&comm, NULL) != RINGRT_OK) { /* rank and size come from srun */
        fprintf(stderr, "%s\n", ringrt_comm_last_error(NULL));
        return 1;
    }
    const int rank = ringrt_comm_rank(comm), size = ringrt_comm_size(comm);
    ringrt_status_t status = ringrt_checkpoint_open(&checkpoint, comm, NULL);
    if (status != RINGRT_OK) fail(status, ringrt_checkpoint_last_error(NULL));
    ringrt_job_config_t config = RINGRT_JOB_CONFIG_INIT;
    config.global_batch = kBatch;
    config.steps_total = steps;
    config.background_saves = 1;
    must(ringrt_job_open(&job, comm, checkpoint, &config));

    int64_t sum = 0;
    uint64_t step = 0;
    status = ringrt_checkpoint_register(checkpoint, "sum", &sum, RINGRT_INT64, 0, NULL);
    if (status == RINGRT_OK) status = ringrt_checkpoint_restore(checkpoint, &step);
    if (status != RINGRT_OK && status != RINGRT_NOT_FOUND) /* not found: a first start */
        fail(status, ringrt_checkpoint_last_error(checkpoint));
    if (rank == 0) printf("start at step %" PRIu64 " on %d ranks\n", step, size);
    fflush(stdout);

    ringrt_action_t action = RINGRT_CONTINUE;
    while (step < steps && action != RINGRT_LEAVE) {
        train(comm, step_ms, &sum);
        must(ringrt_job_step(job, ++step, &action));
        action = serve(action, step);
    }
    if (is_saving) serve(RINGRT_SAVE_END, step);
    if (rank == 0)
        printf("%s at step %" PRIu64 " on %d ranks: the sum is %" PRId64 "\n",
               action == RINGRT_LEAVE ? "left" : "ended", step, size, sum);
    fflush(stdout);
    const int left = action == RINGRT_LEAVE; /* the ranks end one by one: none waits for another */
    must(ringrt_job_close(job));
    if (left) return 0;
    job = NULL;
    must(ringrt_checkpoint_close(checkpoint));
    return ringrt_comm_destroy(comm) == RINGRT_OK ? 0 : 1;
}
