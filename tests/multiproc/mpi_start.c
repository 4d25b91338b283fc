/* SPDX-License-Identifier: BSD-3-Clause */
/* ringrt_mpi.h in C: the ranks of an MPI job meet through it, sum, save and restore. */
#include <stdio.h>
#include <stdlib.h>

#include "ringrt_mpi.h"

static void check(ringrt_status_t status, const ringrt_t *rt) {
    if (status == RINGRT_OK || status == RINGRT_NOT_FOUND) return;
    fprintf(stderr, "%s: %s\n", ringrt_status_string(status), ringrt_last_error(rt));
    exit(1);
}

int main(int argc, char **argv) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    ringrt_t *rt = NULL;
    uint64_t step = 0, shape[1] = {1};
    int rank, size;
    double value = 0;
    float one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    config.checkpoint_dir = argc > 1 ? argv[1] : NULL;
    check(ringrt_init_mpi(&rt, &config, MPI_COMM_WORLD), NULL);
    if (ringrt_rank(rt) != rank || ringrt_size(rt) != size || ringrt_local_rank(rt) != rank) return 2;
    check(ringrt_allreduce(rt, &one, &sum, 1, RINGRT_FLOAT32, RINGRT_SUM), rt);
    check(ringrt_register(rt, "value", &value, RINGRT_FLOAT64, 1, shape), rt);
    check(ringrt_restore(rt, &step), rt);
    if (sum != (float)size || value != (double)step) return 3;
    value = (double)++step;
    check(ringrt_save(rt, step), rt);
    if (rank == 0) printf("%d ranks, step %lu\n", size, (unsigned long)step);
    check(ringrt_finalize(rt), NULL);
    MPI_Finalize();
    return 0;
}
