/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts ringrt from a program's own MPI. Header only: libringrt does not link MPI, so it works
 * with any implementation.
 *
 *     MPI_Init(&argc, &argv);
 *     ringrt_t *rt;
 *     ringrt_config_t config = RINGRT_CONFIG_INIT;
 *     ringrt_status_t status = ringrt_init_mpi(&rt, &config, MPI_COMM_WORLD);
 *     ...
 *     ringrt_finalize(rt);
 *     MPI_Finalize();
 *
 * By default MPI is used only during ringrt_init_mpi(). With RINGRT_TRANSPORT=mpi (or
 * config.transport = "mpi") messages between nodes use MPI until ringrt_finalize(), over a
 * duplicate of the communicator. This needs MPI_Init_thread() with MPI_THREAD_MULTIPLE, because
 * ringrt has its own thread. The MPI library then decides how the job ends when a rank dies. If the
 * other ranks survive, their calls return RINGRT_TIMEOUT or RINGRT_PEER_LOST and they should end
 * the process: MPI may still write to the buffers of a failed call.
 *
 * After RINGRT_LEAVE a rank may be the last one alive. It should end without MPI_Finalize(), which
 * waits for all ranks.
 */
#ifndef RINGRT_MPI_H
#define RINGRT_MPI_H

#include <limits.h>
#include <mpi.h>
#include <ringrt.h>
#include <stdlib.h>

static inline int ringrt_mpi_allgather(void *context, const void *send, void *recv, size_t bytes) {
    if (bytes > INT_MAX) return 1;
    return MPI_Allgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE,
                         *(MPI_Comm *)context) != MPI_SUCCESS;
}

/* ---- messages (ringrt_messenger_t); the link (context) and each MPI_Request are malloc'd ---- */

typedef struct ringrt_mpi_link {
    MPI_Comm comm;
    int starting; /* ringrt_init() has not returned */
    int released;
} ringrt_mpi_link_t;

/* Describes the pieces as one datatype. Returns MPI_DATATYPE_NULL on failure. */
static inline MPI_Datatype ringrt_mpi_layout(const ringrt_piece_t *pieces, size_t count) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int *lengths = (int *)malloc((count + 1) * sizeof *lengths);
    MPI_Aint *places = (MPI_Aint *)malloc((count + 1) * sizeof *places);
    size_t i;
    int sound = lengths && places && count <= INT_MAX;
    for (i = 0; sound && i < count; ++i) {
        if (pieces[i].bytes > INT_MAX) sound = 0;
        lengths[i] = (int)pieces[i].bytes;
        MPI_Get_address(pieces[i].data, &places[i]);
    }
    if (sound &&
        MPI_Type_create_hindexed((int)count, lengths, places, MPI_BYTE, &type) == MPI_SUCCESS)
        MPI_Type_commit(&type);
    free(lengths);
    free(places);
    return type;
}

static inline int ringrt_mpi_start(void *context, const ringrt_piece_t *pieces, size_t count,
                                   int peer, int tag, void **request, int send) {
    MPI_Comm comm = ((ringrt_mpi_link_t *)context)->comm;
    MPI_Request *made = (MPI_Request *)malloc(sizeof *made);
    MPI_Datatype type = MPI_BYTE;
    void *place = MPI_BOTTOM;
    int elements = 1, code;
    if (!made) return 1;
    if (count == 1 && pieces[0].bytes <= INT_MAX) {
        place = pieces[0].data;
        elements = (int)pieces[0].bytes;
    } else {
        type = ringrt_mpi_layout(pieces, count);
    }
    if (type == MPI_DATATYPE_NULL)
        code = MPI_ERR_TYPE;
    else if (send)
        code = MPI_Isend(place, elements, type, peer, tag, comm, made);
    else
        code = MPI_Irecv(place, elements, type, peer, tag, comm, made);
    if (type != MPI_BYTE && type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    if (code != MPI_SUCCESS) {
        free(made);
        return 1;
    }
    *request = made;
    return 0;
}

static inline int ringrt_mpi_send(void *context, const ringrt_piece_t *pieces, size_t count,
                                  int peer, int tag, void **request) {
    return ringrt_mpi_start(context, pieces, count, peer, tag, request, 1);
}

static inline int ringrt_mpi_receive(void *context, const ringrt_piece_t *pieces, size_t count,
                                     int peer, int tag, void **request) {
    return ringrt_mpi_start(context, pieces, count, peer, tag, request, 0);
}

static inline int ringrt_mpi_test(void *context, void **request, int *done) {
    int code = MPI_Test((MPI_Request *)*request, done, MPI_STATUS_IGNORE);
    (void)context;
    if (code == MPI_SUCCESS && !*done) return 0;
    free(*request);
    *request = NULL;
    return code != MPI_SUCCESS;
}

static inline int ringrt_mpi_cancel(void *context, void **request) {
    int done = 0, tries;
    if (MPI_Cancel((MPI_Request *)*request) != MPI_SUCCESS) return 1;
    for (tries = 0; tries < 100 && !done; ++tries) {
        if (ringrt_mpi_test(context, request, &done) != 0) return 1;
    }
    return !done;
}

static inline void ringrt_mpi_release(void *context, int clean) {
    ringrt_mpi_link_t *link = (ringrt_mpi_link_t *)context;
    int over = 1;
    MPI_Finalized(&over);
    if (clean && !over) MPI_Comm_free(&link->comm);
    link->released = 1;
    if (!link->starting) free(link);
}

/* Called after ringrt_init(), which releases the link unless it failed before taking it over. */
static inline void ringrt_mpi_started(ringrt_mpi_link_t *link, ringrt_status_t status) {
    link->starting = 0;
    if (link->released)
        free(link);
    else if (status != RINGRT_OK)
        ringrt_mpi_release(link, 1); /* nothing was sent over it */
}

/* Collective. Sets *usable and fills *out if any thread may call this MPI. Returns nonzero if MPI
 * failed. */
static inline int ringrt_mpi_messenger(MPI_Comm comm, ringrt_messenger_t *out, int *usable) {
    int level = MPI_THREAD_SINGLE;
    ringrt_mpi_link_t *own;
    *usable = 0;
    if (MPI_Query_thread(&level) != MPI_SUCCESS) return 1;
    if (level < MPI_THREAD_MULTIPLE) return 0;
    own = (ringrt_mpi_link_t *)calloc(1, sizeof *own);
    if (!own) return 1;
    own->starting = 1;
    if (MPI_Comm_dup(comm, &own->comm) != MPI_SUCCESS) {
        free(own);
        return 1;
    }
    MPI_Comm_set_errhandler(own->comm, MPI_ERRORS_RETURN);
    out->context = own;
    out->send = ringrt_mpi_send;
    out->receive = ringrt_mpi_receive;
    out->test = ringrt_mpi_test;
    out->cancel = ringrt_mpi_cancel;
    out->release = ringrt_mpi_release;
    *usable = 1;
    return 0;
}

/* Returns whether `config` or the environment selects MPI between nodes. */
static inline int ringrt_mpi_wanted(const ringrt_config_t *config) {
    const char *name =
        config->transport && *config->transport ? config->transport : getenv("RINGRT_TRANSPORT");
    return name && name[0] == 'm' && name[1] == 'p' && name[2] == 'i' && name[3] == 0;
}

/* ---- start ---- */

/* Collective over `comm`. Like ringrt_init(), but rank, size, local rank, local size and the
 * all-gather of `config` (NULL: all defaults) come from `comm`. */
static inline ringrt_status_t ringrt_init_mpi(ringrt_t **out, const ringrt_config_t *config,
                                              MPI_Comm comm) {
    ringrt_config_t filled = RINGRT_CONFIG_INIT;
    ringrt_status_t status;
    MPI_Comm node;
    ringrt_messenger_t messenger;
    int failed, usable = 0;
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
    if (ringrt_mpi_wanted(&filled)) {
        if (ringrt_mpi_messenger(comm, &messenger, &usable) != 0) return RINGRT_SYSTEM_ERROR;
        if (usable) filled.messenger = &messenger;
    }
    status = ringrt_init(out, &filled);
    if (usable) ringrt_mpi_started((ringrt_mpi_link_t *)messenger.context, status);
    return status;
}

#endif
