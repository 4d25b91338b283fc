/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resizing in place: ranks of other jobs join this training and leave it while it runs.
 * See doc/live.md.
 *
 *     base=$(sbatch --parsable --gpus=2 --ntasks=2 live.sh)
 *     RINGRT_EXTENDS=$base sbatch --gpus=2 --ntasks=2 live.sh    # joins when it has started
 *
 * with live.sh: srun ./live STEPS STEP_MS. One rank alone takes STEP_MS for a step. The program
 * fits y = a + b x to generated samples. Rank 0 of the base writes one line per step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ringrt.h"

enum { BATCH = 64, SAMPLES = 4096 };
static const double kRate = 0.05;

/* Adds one sample's two gradients and squared error to sums. */
static void add_sample(uint64_t sample, const double *weights, double *sums) {
    const double x = (double)sample / SAMPLES, y = 3 + 2 * x;
    const double error = weights[0] + weights[1] * x - y;
    sums[0] += error;
    sums[1] += error * x;
    sums[2] += error * error;
}

/* One step on this rank's share. The weights change after the sum and before ringrt_step(). */
static ringrt_status_t train(ringrt_t *rt, double *weights, uint64_t *step, unsigned step_ms,
                             ringrt_action_t *action) {
    ringrt_batch_t batch;
    ringrt_status_t status = ringrt_batch(rt, &batch);
    if (status != RINGRT_OK) return status;
    double sums[3] = {0, 0, 0};
    for (uint64_t i = 0; i < batch.count; ++i) {
        const uint64_t at = batch.samples_seen + batch.first + i;
        add_sample(ringrt_sample(1, at / SAMPLES, SAMPLES, at % SAMPLES), weights, sums);
    }
    usleep(step_ms * 1000 * (unsigned)batch.count / BATCH); /* its share of the work */
    status = ringrt_allreduce(sums, sums, 3, RINGRT_FLOAT64, RINGRT_SUM, rt);
    if (status != RINGRT_OK) return status;
    for (int i = 0; i < 2; ++i) weights[i] -= kRate * sums[i] / BATCH;
    ++*step;
    if (ringrt_rank(rt) == 0) {
        printf("step %" PRIu64 " ranks %d loss %.3e\n", *step, ringrt_size(rt), sums[2] / BATCH);
        fflush(stdout);
    }
    return ringrt_step(rt, *step, action);
}

int main(int argc, char **argv) {
    if (argc != 3) return fputs("usage: live STEPS STEP_MS\n", stderr), 2;
    const uint64_t steps = strtoull(argv[1], NULL, 10);
    const unsigned step_ms = (unsigned)strtoul(argv[2], NULL, 10);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.global_batch = BATCH;
    config.steps_total = steps;
    config.live_resize = 1;
    ringrt_t *rt = NULL;
    ringrt_status_t status = ringrt_init(&rt, &config);
    double weights[2] = {0, 0};
    if (status == RINGRT_OK)
        status = ringrt_register(rt, "weights", weights, RINGRT_FLOAT64, 1, (const uint64_t[]){2});
    uint64_t step = 0;
    if (status == RINGRT_OK) status = ringrt_restore(rt, &step);
    if (status == RINGRT_NOT_FOUND) status = RINGRT_OK; /* a first start */
    ringrt_action_t action = RINGRT_CONTINUE;
    while (status == RINGRT_OK && action == RINGRT_CONTINUE && step < steps) {
        status = train(rt, weights, &step, step_ms, &action);
        /* An extension is gone: continue from the newest step that any rank finished. */
        if (status == RINGRT_PEER_LOST) status = ringrt_restore(rt, &step);
    }
    if (status != RINGRT_OK) return fprintf(stderr, "live: %s\n", ringrt_last_error(rt)), 1;
    if (action == RINGRT_LEAVE)
        puts("left");
    else if (ringrt_rank(rt) == 0)
        printf("weights %.12f %.12f\n", weights[0], weights[1]);
    return ringrt_finalize(rt) == RINGRT_OK ? 0 : 1;
}
