/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ringrt_comm: communicators, for programs and libraries that need collectives and no training job.
 *
 *     ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;   // under srun nothing else is needed
 *     ringrt_comm_t *comm;
 *     ringrt_comm_create(&comm, &config);
 *     ringrt_comm_allreduce(x, x, n, RINGRT_FLOAT32, RINGRT_SUM, comm, NULL);
 *     ringrt_comm_destroy(comm);
 *
 * Who knows NCCL knows this: counts are elements, blocks are equal, and all ranks of a communicator
 * call its operations in the same order with the same counts, types, operations and roots. Where
 * NCCL has a stream there is a request. Buffers are in host memory. What does not fit together is
 * answered by RINGRT_MISMATCH and a line that names both calls, not by a hang.
 *
 * Every function returns a status; on anything but RINGRT_OK the outputs are unchanged and
 * ringrt_comm_last_error() holds one line that says what happened and what to do. No function
 * exits, aborts or throws. After any failure but RINGRT_INVALID_ARGUMENT and RINGRT_UNSUPPORTED a
 * communicator is spent: every later operation answers that failure.
 *
 * Threads. Communicators know nothing of one another: several threads may use one each, in any
 * order. One communicator may be used from several threads too; its operations run one after
 * another, in the order in which they were called, and that order must be the same on all ranks. So
 * two threads that call without a lock of their own around it are a mistake, except for those that
 * may be called at any time: ringrt_comm_abort(), _async_error(), _last_error(), _rank(), _size(),
 * _test() and _wait() of different requests. Nothing may be called during or after
 * ringrt_comm_destroy(). A communicator belongs to the process that made it: after fork() the
 * child's copy answers RINGRT_FORKED.
 */
#ifndef RINGRT_COMM_H
#define RINGRT_COMM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RINGRT_API __attribute__((visibility("default")))
#else
#define RINGRT_API
#endif

/* The columns are read as tables. */
/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

#define RINGRT_VERSION_MAJOR 0
#define RINGRT_VERSION_MINOR 1

/* 1000 · major + minor of the library that runs, which may be newer than this header. */
RINGRT_API int ringrt_version(void);

typedef enum ringrt_status {
    RINGRT_OK = 0,
    RINGRT_NOT_FOUND,          /* no checkpoint: a first start */
    RINGRT_INVALID_ARGUMENT,
    RINGRT_TIMEOUT,            /* a peer did not answer in time */
    RINGRT_PEER_LOST,          /* a peer closed its connection or died */
    RINGRT_MISMATCH,           /* ranks called different operations, or registered different buffers */
    RINGRT_NO_MEMORY,
    RINGRT_SYSTEM_ERROR,
    RINGRT_CHECKPOINT_FAILED,  /* not saved: the old checkpoint stands, training can go on */
    RINGRT_CORRUPT,            /* every kept checkpoint is damaged: stop, never start afresh silently */
    RINGRT_SUPERSEDED,         /* a newer incarnation of this job writes the checkpoints */
    RINGRT_ABORTED,
    RINGRT_FORKED,
    RINGRT_UNSUPPORTED
} ringrt_status_t;

/* The name of a status, e.g. "peer lost". Never NULL. */
RINGRT_API const char *ringrt_status_string(ringrt_status_t status);

typedef enum ringrt_dtype {
    RINGRT_FLOAT32 = 0,
    RINGRT_FLOAT64,
    RINGRT_FLOAT16,            /* short floats are reduced in float32, and rounded once */
    RINGRT_BFLOAT16,
    RINGRT_INT32,              /* integers wrap around, also below an average */
    RINGRT_INT64,
    RINGRT_UINT8,
    RINGRT_INT8,
    RINGRT_BOOL,               /* a byte; not 0: true. SUM, MAX: or; PROD, MIN: and; no AVG */
    RINGRT_FLOAT8_E4M3,        /* OCP's, without infinity: above 448 a result is NaN */
    RINGRT_FLOAT8_E5M2
} ringrt_dtype_t;

typedef enum ringrt_op { RINGRT_SUM = 0, RINGRT_AVG, RINGRT_MIN, RINGRT_MAX, RINGRT_PROD } ringrt_op_t;

typedef struct ringrt_comm ringrt_comm_t;

/* ---- its life ----------------------------------------------------------------------------------- */

#define RINGRT_STORE_VALUE_BYTES 1024

/* Carries one short text from rank 0 to the others: over c10d's Store, a PMI, a file, or as two halves
 * of a broadcast (MPI_Bcast). Rank 0 calls put once and every other rank calls get once, with the same
 * key, from within ringrt_comm_create(); both return 0 on success. A value is printable ASCII without
 * blanks, of at most RINGRT_STORE_VALUE_BYTES with its 0, and holds a secret: who reads it can join. */
typedef struct ringrt_store {
    void *context;
    int (*put)(void *context, const char *key, const char *value);
    int (*get)(void *context, const char *key, char *value, size_t bytes, uint32_t timeout_ms); /* waits for it */
} ringrt_store_t;

/* Zero means: the environment variable in brackets, else the default in parentheses. */
typedef struct ringrt_comm_config {
    size_t struct_size;          /* sizeof(ringrt_comm_config_t), so that fields can be added later */
    int rank, size;              /* size 0: srun's [SLURM_PROCID, SLURM_NTASKS]; outside of it one rank alone */
    const ringrt_store_t *store; /* how the ranks meet; copied. NULL: by rendezvous */
    const char *rendezvous;      /* where rank 0 is met [RINGRT_RENDEZVOUS] (a file in the working folder, named by
                                    job, step and restart): a file's path in a folder that all ranks share,
                                    or "tcp:HOST:PORT" with RINGRT_SECRET */
    const char *name;            /* its key in the store, and part of the file's name ("world"). Communicators that
                                    are made at the same time, or over one store, have different names */
    uint32_t timeout_ms;         /* of one operation, to the next sign of life [RINGRT_TIMEOUT_MS] (600000) */
    uint32_t start_timeout_ms;   /* of ringrt_comm_create() and _split() [RINGRT_START_TIMEOUT_MS] (120000) */
} ringrt_comm_config_t;

#ifdef __cplusplus
inline ringrt_comm_config_t ringrt_comm_config_init() {
    ringrt_comm_config_t config = ringrt_comm_config_t();
    config.struct_size = sizeof config;
    return config;
}
#define RINGRT_COMM_CONFIG_INIT ringrt_comm_config_init()
#else
#define RINGRT_COMM_CONFIG_INIT {.struct_size = sizeof(ringrt_comm_config_t)}
#endif

/* Collective. The ranks meet; those of a node share memory, TCP joins the nodes. config NULL: everything
 * from the environment. */
RINGRT_API ringrt_status_t ringrt_comm_create(ringrt_comm_t **out, const ringrt_comm_config_t *config);

#define RINGRT_COMM_NO_COLOR (-1)

/* Collective over `comm`. A communicator for each color, its ranks in the order
 * of key, and of their rank in comm where keys are equal. With RINGRT_COMM_NO_COLOR *out becomes NULL; other
 * colors are not below 0. It has its parent's time-outs and outlives it. */
RINGRT_API ringrt_status_t ringrt_comm_split(ringrt_comm_t *comm, int color, int key, ringrt_comm_t **out);

/* Collective where all went well: returns when all ranks have come. After a failure, or with requests under
 * way, which end by RINGRT_ABORTED, it waits for nobody. NULL is allowed. */
RINGRT_API ringrt_status_t ringrt_comm_destroy(ringrt_comm_t *comm);

/* Every operation of this rank, under way or to come, returns RINGRT_ABORTED, and its peers' RINGRT_PEER_LOST.
 * From any thread. ringrt_comm_destroy() is still to be called. */
RINGRT_API ringrt_status_t ringrt_comm_abort(ringrt_comm_t *comm);

/* *status: RINGRT_OK, or the failure that every later operation answers; of whatever operation, in any thread.
 * Waits for nothing. */
RINGRT_API ringrt_status_t ringrt_comm_async_error(const ringrt_comm_t *comm, ringrt_status_t *status);

/* One line about the last failure of `comm`, or of a failed ringrt_comm_create() of this thread where comm is
 * NULL. Valid until this thread asks again. Never NULL. */
RINGRT_API const char *ringrt_comm_last_error(const ringrt_comm_t *comm);

RINGRT_API int ringrt_comm_rank(const ringrt_comm_t *comm); /* -1 where comm is NULL */
RINGRT_API int ringrt_comm_size(const ringrt_comm_t *comm);

/* ---- operations --------------------------------------------------------------------------------- */

/* Of one operation under way. With request NULL an operation returns when it is over: all it reads may be
 * written again, all it writes is there. Else it returns at once, and the buffers belong to it until
 * ringrt_comm_wait(). Others may be called meanwhile, with or without a request: they run in order. */
typedef struct ringrt_comm_request ringrt_comm_request_t;

/* *done: 1 when ringrt_comm_wait() would return at once, else 0. */
RINGRT_API ringrt_status_t ringrt_comm_test(ringrt_comm_request_t *request, int *done);
/* Waits for its end, frees it whatever the status, and answers how it ended. Also after an abort, and after
 * ringrt_comm_destroy(). */
RINGRT_API ringrt_status_t ringrt_comm_wait(ringrt_comm_request_t *request);

/* recv[i] = op over ranks of send[i], the same bits on all ranks: added by rank, or in RINGRT_ORDER's order
 * (ringrt(3)). recv may be send. */
RINGRT_API ringrt_status_t ringrt_comm_allreduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                 ringrt_op_t op, ringrt_comm_t *comm,
                                                 ringrt_comm_request_t **request);
/* The same, for root alone: elsewhere recv is not used. To the other ranks it is an allreduce, and costs as much. */
RINGRT_API ringrt_status_t ringrt_comm_reduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                              ringrt_op_t op, int root, ringrt_comm_t *comm,
                                              ringrt_comm_request_t **request);
/* Of size blocks of `count` elements in send, rank r gets the reduced block r in recv, which may not overlap
 * send. */
RINGRT_API ringrt_status_t ringrt_comm_reduce_scatter(const void *send, void *recv, size_t count,
                                                      ringrt_dtype_t dtype, ringrt_op_t op, ringrt_comm_t *comm,
                                                      ringrt_comm_request_t **request);
/* `count` elements of each rank, in rank order, to all. send may be its block of recv. */
RINGRT_API ringrt_status_t ringrt_comm_allgather(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                 ringrt_comm_t *comm, ringrt_comm_request_t **request);
/* Root's send to everybody's recv. send is used at root alone, and may be recv. */
RINGRT_API ringrt_status_t ringrt_comm_broadcast(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                 int root, ringrt_comm_t *comm, ringrt_comm_request_t **request);
/* Of size blocks of `count` elements in send, block r goes to rank r; recv gets one block of each rank, in rank
 * order, and may not overlap send. */
RINGRT_API ringrt_status_t ringrt_comm_alltoall(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                ringrt_comm_t *comm, ringrt_comm_request_t **request);
/* `count` elements of each rank, in rank order, to root's recv, which is used there alone. Root's send may be its
 * block of recv. */
RINGRT_API ringrt_status_t ringrt_comm_gather(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                              int root, ringrt_comm_t *comm, ringrt_comm_request_t **request);
/* Block r of `count` elements in root's send, which is used there alone, to rank r's recv. Root's recv may be its
 * block of send. */
RINGRT_API ringrt_status_t ringrt_comm_scatter(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                               int root, ringrt_comm_t *comm, ringrt_comm_request_t **request);
/* It is over at no rank before all have called. */
RINGRT_API ringrt_status_t ringrt_comm_barrier(ringrt_comm_t *comm, ringrt_comm_request_t **request);

/* `count` elements to rank peer, which calls ringrt_comm_recv() with as many bytes and the same tag, 0 or more. To
 * nobody else they are calls. Messages of one tag between two ranks are received in the order in which they were
 * sent; one of another tag that comes first is kept in memory. The send is over when `send` may be written again,
 * which may be before the peer has received: that is not to be relied on. As operations run in order, two ranks that
 * send to each other do so in a group, else both may wait for ever. */
RINGRT_API ringrt_status_t ringrt_comm_send(const void *send, size_t count, ringrt_dtype_t dtype, int peer, int tag,
                                            ringrt_comm_t *comm, ringrt_comm_request_t **request);
RINGRT_API ringrt_status_t ringrt_comm_recv(void *recv, size_t count, ringrt_dtype_t dtype, int peer, int tag,
                                            ringrt_comm_t *comm, ringrt_comm_request_t **request);

/* The operations of `comm` that are called between start and end, without requests, begin with the end and are one
 * operation, with one request: all its sends and receives move at the same time, in whatever order they were called,
 * then its collectives run in the order of their calls. A rank may send to itself here. An argument that is refused
 * refuses the whole group: ringrt_comm_group_end() answers the same, and nothing has begun. Groups do not nest. */
RINGRT_API ringrt_status_t ringrt_comm_group_start(ringrt_comm_t *comm);
RINGRT_API ringrt_status_t ringrt_comm_group_end(ringrt_comm_t *comm, ringrt_comm_request_t **request);

/* Memory that the ranks of a node read in place: ringrt_comm_allreduce() is fastest where all ranks' send and
 * recv are in such memory. Not collective. Zero at first, aligned to 256 bytes; RINGRT_NO_MEMORY where /dev/shm is
 * full: ordinary memory always works too. Freed by ringrt_comm_destroy() at the latest. */
RINGRT_API ringrt_status_t ringrt_comm_mem_alloc(ringrt_comm_t *comm, size_t bytes, void **out);
RINGRT_API ringrt_status_t ringrt_comm_mem_free(ringrt_comm_t *comm, void *memory);

#ifdef __cplusplus
}
#endif

/* clang-format on */
#endif
