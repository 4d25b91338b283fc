/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resizing in place with divided state: every rank has all weights, and some rows of the momentum.
 * The rows move when ranks join and leave. See live.c, and doc/live.md.
 *
 *     base=$(sbatch --parsable --gpus=2 --ntasks=2 live.sh)
 *     RINGRT_EXTENDS=$base sbatch --gpus=2 --ntasks=2 live.sh    # joins when it has started
 *
 * with live.sh: srun ./live_rows STEPS STEP_MS. One rank alone takes STEP_MS for a step. Each step
 * pulls the weights to noisy values. Rank 0 of the base writes one line per step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ringrt.h"

enum { ROWS = 37, COLUMNS = 5, ALL = ROWS * COLUMNS, BATCH = 64 };
static const double kRate = 0.01, kMomentum = 0.9;

/* The rows of `rank` of `size`, and memory for them. */
static int place(void *context, int rank, int size, ringrt_rows_t *out) {
    (void)context;
    out->first = (uint64_t)ROWS * (uint64_t)rank / (uint64_t)size;
    out->count = (uint64_t)ROWS * (uint64_t)(rank + 1) / (uint64_t)size - out->first;
    out->data = calloc(out->count * COLUMNS + 1, sizeof(double));
    return out->data ? 0 : 1;
}

static void release(void *context, void *data) {
    (void)context;
    free(data);
}

/* The gradients of this rank's samples. */
static void add_samples(const ringrt_batch_t *batch, const double *weights, double *g) {
    for (uint64_t i = 0; i < batch->count; ++i) {
        const uint64_t sample =
            ringrt_sample(1, 0, 1 << 20, batch->samples_seen + batch->first + i);
        for (int j = 0; j < ALL; ++j)
            g[j] += weights[j] - j - (double)((sample + (uint64_t)j) % 7) / 7;
    }
}

/* One step: sums the gradients, updates this rank's rows, and gathers all ranks' updates. */
static ringrt_status_t train(ringrt_t *rt, double *weights, uint64_t *step, unsigned step_ms,
                             ringrt_action_t *action) {
    ringrt_batch_t batch;
    ringrt_rows_t rows; /* may be others in each step */
    double g[ALL] = {0}, change[ALL] = {0};
    ringrt_status_t status = ringrt_batch(rt, &batch);
    if (status == RINGRT_OK) status = ringrt_rows(rt, "momentum", &rows);
    if (status != RINGRT_OK) return status;
    add_samples(&batch, weights, g);
    usleep(step_ms * 1000 * (unsigned)batch.count / BATCH); /* its share of the work */
    status = ringrt_allreduce(g, g, ALL, RINGRT_FLOAT64, RINGRT_SUM, rt);
    if (status != RINGRT_OK) return status;
    double *momentum = rows.data;
    const uint64_t first = rows.first * COLUMNS;
    for (uint64_t i = 0; i < rows.count * COLUMNS; ++i) {
        momentum[i] = kMomentum * momentum[i] + g[first + i] / BATCH;
        change[first + i] = kRate * momentum[i];
    }
    status = ringrt_allreduce(change, change, ALL, RINGRT_FLOAT64, RINGRT_SUM, rt);
    if (status != RINGRT_OK) return status;
    for (int j = 0; j < ALL; ++j) weights[j] -= change[j];
    ++*step;
    if (ringrt_rank(rt) == 0) {
        printf("step %" PRIu64 " ranks %d weight %.6f\n", *step, ringrt_size(rt), weights[1]);
        fflush(stdout);
    }
    return ringrt_step(rt, *step, action);
}

static void show(const double *weights) {
    double sum = 0, weighted = 0;
    for (int j = 0; j < ALL; ++j) sum += weights[j], weighted += j * weights[j];
    printf("weights %.10f %.10f\n", sum / ALL, weighted / ALL / ALL);
}

static ringrt_status_t register_all(ringrt_t *rt, double *weights) {
    const uint64_t shape[] = {ROWS, COLUMNS};
    const ringrt_status_t status =
        ringrt_register(rt, "weights", weights, RINGRT_FLOAT64, 2, shape);
    if (status != RINGRT_OK) return status;
    return ringrt_register_placed_rows(rt, "momentum", RINGRT_FLOAT64, 2, shape, place, release,
                                       NULL);
}

int main(int argc, char **argv) {
    if (argc != 3) return fputs("usage: live_rows STEPS STEP_MS\n", stderr), 2;
    const uint64_t steps = strtoull(argv[1], NULL, 10);
    const unsigned step_ms = (unsigned)strtoul(argv[2], NULL, 10);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.global_batch = BATCH;
    config.steps_total = steps;
    config.live_resize = 1;
    ringrt_t *rt = NULL;
    ringrt_status_t status = ringrt_init(&rt, &config);
    double weights[ALL] = {0};
    if (status == RINGRT_OK) status = register_all(rt, weights);
    uint64_t step = 0;
    if (status == RINGRT_OK) status = ringrt_restore(rt, &step);
    if (status == RINGRT_NOT_FOUND) status = RINGRT_OK; /* a first start */
    ringrt_action_t action = RINGRT_CONTINUE;
    while (status == RINGRT_OK && action == RINGRT_CONTINUE && step < steps) {
        status = train(rt, weights, &step, step_ms, &action);
        /* Lost ranks had rows: continue from the newest checkpoint, in place. */
        if (status == RINGRT_PEER_LOST) status = ringrt_restore(rt, &step);
    }
    if (status != RINGRT_OK) return fprintf(stderr, "live_rows: %s\n", ringrt_last_error(rt)), 1;
    if (action == RINGRT_LEAVE)
        puts("left");
    else if (ringrt_rank(rt) == 0)
        show(weights);
    return ringrt_finalize(rt) == RINGRT_OK ? 0 : 1;
}
