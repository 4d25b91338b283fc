/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts ringrt from a program's own MPI. Header only: libringrt links no MPI, so it works with any.
 *
 *     MPI_Init(&argc, &argv);
 *     ringrt_t *rt;
 *     ringrt_config_t config = RINGRT_CONFIG_INIT;
 *     ringrt_status_t status = ringrt_init_mpi(&rt, &config, MPI_COMM_WORLD);
 *     ...
 *     ringrt_finalize(rt);
 *     MPI_Finalize();
 *
 * MPI is used during ringrt_init_mpi() only. A program that was told RINGRT_LEAVE may be the only one
 * of its ranks that still lives: it should end without MPI_Finalize(), which waits for all.
 */
#ifndef RINGRT_MPI_H
#define RINGRT_MPI_H

#include <limits.h>
#include <mpi.h>
#include <ringrt.h>

static inline int ringrt_mpi_allgather(void *context, const void *send, void *recv, size_t bytes) {
    if (bytes > INT_MAX) return 1;
    return MPI_Allgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE,
                         *(MPI_Comm *)context) != MPI_SUCCESS;
}

/* Collective over `comm`. Like ringrt_init(); rank, size, local rank and the gathering of `config`
 * (NULL: all defaults) are taken from `comm`. */
static inline ringrt_status_t ringrt_init_mpi(ringrt_t **out, const ringrt_config_t *config,
                                              MPI_Comm comm) {
    ringrt_config_t filled = RINGRT_CONFIG_INIT;
    ringrt_status_t status;
    MPI_Comm node;
    int failed;
    if (config) filled = *config;
    failed = MPI_Comm_rank(comm, &filled.rank) != MPI_SUCCESS ||
             MPI_Comm_size(comm, &filled.size) != MPI_SUCCESS ||
             MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, filled.rank, MPI_INFO_NULL, &node) !=
                 MPI_SUCCESS;
    if (failed) return RINGRT_SYSTEM_ERROR;
    failed = MPI_Comm_rank(node, &filled.local_rank) != MPI_SUCCESS ||
             MPI_Comm_size(node, &filled.local_size) != MPI_SUCCESS;
    MPI_Comm_free(&node);
    if (failed) return RINGRT_SYSTEM_ERROR;
    filled.allgather = ringrt_mpi_allgather;
    filled.allgather_context = &comm; /* read during ringrt_init() only */
    status = ringrt_init(out, &filled);
    return status;
}

#endif
