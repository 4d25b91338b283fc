/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints without a training job: a matrix whose columns are divided among the ranks. Each run
 * continues from the last one's checkpoint, on any number of ranks.
 *
 *     RINGRT_CHECKPOINT_DIR=/scratch/matrix srun -n 3 ./checkpoints
 *     RINGRT_CHECKPOINT_DIR=/scratch/matrix srun -n 2 ./checkpoints
 */
#include <ringrt_checkpoint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 5, kColumns = 7 };

static ringrt_checkpoint_t *checkpoint;

static void must(ringrt_status_t status) {
    if (status == RINGRT_OK) return;
    fprintf(stderr, "%s: %s\n", ringrt_status_string(status),
            ringrt_checkpoint_last_error(checkpoint));
    exit(1);
}

int main(void) {
    ringrt_comm_t *comm;
    if (ringrt_comm_create(&comm, NULL) != RINGRT_OK) { /* rank and size come from srun */
        fprintf(stderr, "%s\n", ringrt_comm_last_error(NULL));
        return 1;
    }
    must(ringrt_checkpoint_open(&checkpoint, comm, NULL));
    const uint64_t rank = (uint64_t)ringrt_comm_rank(comm), size = (uint64_t)ringrt_comm_size(comm);
    const uint64_t first = kColumns * rank / size, end = kColumns * (rank + 1) / size;
    const uint64_t shape[] = {kRows, kColumns}, offset[] = {0, first},
                   extent[] = {kRows, end - first};
    float *part = calloc(kRows * kColumns, sizeof *part); /* row-major: kRows by end - first */
    if (!part) return 1;
    must(ringrt_checkpoint_register_block(checkpoint, "matrix", part, RINGRT_FLOAT32, 2, shape,
                                          offset, extent));

    uint64_t step = 0;
    const ringrt_status_t restored = ringrt_checkpoint_restore(checkpoint, &step);
    if (restored != RINGRT_NOT_FOUND) must(restored); /* not found: a first start */
    for (const uint64_t stop = step + 10; step < stop;) {
        for (uint64_t i = 0; i < kRows * (end - first); ++i)
            part[i] += (float)(first + i % (end - first)); /* its column */
        if (++step % 5 == 0) must(ringrt_checkpoint_save(checkpoint, step));
    }

    float sum = 0;
    for (uint64_t i = 0; i < kRows * (end - first); ++i) sum += part[i];
    if (ringrt_comm_allreduce(&sum, &sum, 1, RINGRT_FLOAT32, RINGRT_SUM, comm, NULL) != RINGRT_OK)
        return 1;
    if (rank == 0)
        printf("step %d on %d ranks: the sum is %.0f\n", (int)step, (int)size, (double)sum);
    must(ringrt_checkpoint_close(checkpoint));
    free(part);
    return ringrt_comm_destroy(comm) == RINGRT_OK ? 0 : 1;
}
