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

/* Counts the communicators that carry an attribute: copies are made and freed with it. */
static int copies = 0;
static int on_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    ++copies;
    return MPI_SUCCESS;
}
static int on_free(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    --copies;
    return MPI_SUCCESS;
}

/* A start that fails before it reaches the other ranks leaves no communicator behind. */
static int leaves_nothing(void) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    ringrt_t *rt = NULL;
    MPI_Comm marked;
    int key, i;
    MPI_Comm_create_keyval(on_copy, on_free, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &marked);
    MPI_Comm_set_attr(marked, key, NULL);
    config.transport = "mpi";
    config.keep_checkpoints = 1000000; /* too many */
    for (i = 0; i < 3; ++i)
        if (ringrt_init_mpi(&rt, &config, marked) != RINGRT_INVALID_ARGUMENT) return 0;
    i = copies;
    MPI_Comm_delete_attr(marked, key);
    MPI_Comm_free(&marked);
    return i == 0;
}

int main(int argc, char **argv) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    ringrt_t *rt = NULL;
    uint64_t step = 0, shape[1] = {1};
    int rank, size;
    double value = 0;
    float one = 1, sum = 0;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!leaves_nothing()) return 4;
    config.checkpoint_dir = argc > 1 ? argv[1] : NULL;
    check(ringrt_init_mpi(&rt, &config, MPI_COMM_WORLD), NULL);
    if (ringrt_rank(rt) != rank || ringrt_size(rt) != size || ringrt_local_rank(rt) != rank)
        return 2;
    check(ringrt_allreduce(&one, &sum, 1, RINGRT_FLOAT32, RINGRT_SUM, rt), rt);
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
