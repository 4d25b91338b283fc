/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ringrt_comm: communicators, for programs and libraries that need collectives but no training job.
 *
 *     ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;   // under srun nothing else is needed
 *     ringrt_comm_t *comm;
 *     ringrt_comm_create(&comm, &config);
 *     ringrt_comm_allreduce(x, x, n, RINGRT_FLOAT32, RINGRT_SUM, comm, NULL);
 *     ringrt_comm_destroy(comm);
 *
 * The interface follows NCCL: all ranks of a communicator call its operations in the same order
 * with the same counts, types, operations and roots. A request takes the place of NCCL's stream
 * argument; ringrt_comm_set_stream() sets the stream for buffers in GPU memory. Calls that do not
 * match fail with RINGRT_MISMATCH and a line that names both calls; they do not hang.
 *
 * Unlike in NCCL, ringrt_comm_abort() leaves the communicator to ringrt_comm_destroy(), a group is
 * of one communicator and does not nest, messages have a tag as in MPI, and the enumerators have
 * other values: do not pass NCCL's.
 *
 * Counts and buffers, in every operation of this header and of ringrt.h:
 * - A count is a number of elements: of one block, if a buffer is divided among the ranks. Blocks
 *   have equal sizes: a vector that the ranks do not divide evenly is padded by the program.
 * - With count 0 the buffers are not used and may be NULL, but all ranks must make the call.
 * - In place, as with NCCL, is send == recv if both have one size; otherwise one rank's block is at
 *   its place in the buffer of all blocks. The operations that can be in place say so.
 * - Buffers that overlap in any other way, NULL where a buffer is used, and sizes beyond any memory
 *   are refused with RINGRT_INVALID_ARGUMENT. Nothing was done then: the other ranks wait for the
 *   correct call.
 * - Buffers in host memory need no alignment; in GPU memory, that of their type.
 *
 * Every function returns a status. On any status but RINGRT_OK the outputs are unchanged, and
 * ringrt_comm_last_error() returns one line with the cause and the remedy. No function exits,
 * aborts or throws. After any failure but RINGRT_INVALID_ARGUMENT and RINGRT_UNSUPPORTED a
 * communicator is unusable: every later operation returns the same failure.
 *
 * Threads. Communicators are independent: several threads may use one each, in any order. Several
 * threads may also share one communicator. Its operations run one after another, in call order, and
 * that order must be the same on all ranks. Threads that share a communicator must therefore
 * serialize their calls with a lock, except for those that may be called at any time:
 * ringrt_comm_abort(), _async_error(), _last_error(), _rank(), _size(), and ringrt_test() and
 * ringrt_wait() of different requests. Nothing else may be called during or after
 * ringrt_comm_destroy(). A communicator belongs to the process that created it: after fork() the
 * child's copy returns RINGRT_FORKED.
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

/* Columns are aligned as tables. */
/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

#define RINGRT_VERSION_MAJOR 1
#define RINGRT_VERSION_MINOR 0
#define RINGRT_VERSION (1000 * RINGRT_VERSION_MAJOR + RINGRT_VERSION_MINOR)

/* RINGRT_VERSION of the loaded library, which may be newer than this header. Within a major version, which is the
 * library's soname, enumerators keep their values and get new ones at the end, structs without a struct_size keep their
 * members, and a struct with one may get more at its end. A program runs with any later minor version; with an earlier
 * one it is refused where it uses what is newer. */
RINGRT_API int ringrt_version(void);

typedef enum ringrt_status {
    RINGRT_OK = 0,
    RINGRT_NOT_FOUND,          /* no checkpoint: a first start; no such blob */
    RINGRT_INVALID_ARGUMENT,   /* nothing was done */
    RINGRT_TIMEOUT,            /* a peer did not answer in time */
    RINGRT_PEER_LOST,          /* a peer closed its connection or died */
    RINGRT_MISMATCH,           /* ranks called different operations, or registered different buffers */
    RINGRT_NO_MEMORY,
    RINGRT_SYSTEM_ERROR,       /* a call of the operating system, of CUDA or of NCCL, or a callback, failed */
    RINGRT_CHECKPOINT_FAILED,  /* not saved: the old checkpoint remains, training can continue */
    RINGRT_CORRUPT,            /* every kept checkpoint is damaged: stop, never start afresh silently */
    RINGRT_SUPERSEDED,         /* a newer incarnation of this job writes the checkpoints */
    RINGRT_ABORTED,            /* an _abort() function was called at this rank */
    RINGRT_FORKED,             /* the handle belongs to the process that forked this one */
    RINGRT_UNSUPPORTED         /* not in this build, or not by this handle; nothing was done */
} ringrt_status_t;

/* The name of a status, e.g. "peer lost". Never NULL. */
RINGRT_API const char *ringrt_status_string(ringrt_status_t status);

typedef enum ringrt_dtype {
    RINGRT_FLOAT32 = 0,
    RINGRT_FLOAT64,
    RINGRT_FLOAT16,            /* short floats are reduced in float32, and rounded once */
    RINGRT_BFLOAT16,
    RINGRT_INT32,              /* integers wrap around, also in the sum of an average */
    RINGRT_INT64,
    RINGRT_UINT8,
    RINGRT_INT8,
    RINGRT_BOOL,               /* a byte; not 0: true. SUM, MAX: or; PROD, MIN: and; no AVG */
    RINGRT_FLOAT8_E4M3,        /* OCP's, without infinity: above 448 a result is NaN */
    RINGRT_FLOAT8_E5M2,
    RINGRT_UINT32,
    RINGRT_UINT64
} ringrt_dtype_t;

typedef enum ringrt_op { RINGRT_SUM = 0, RINGRT_AVG, RINGRT_MIN, RINGRT_MAX, RINGRT_PROD } ringrt_op_t;

typedef struct ringrt_comm ringrt_comm_t;

/* ---- requests, of all headers ---------------------------------------------------------------------- */

/* One operation in progress. */
typedef struct ringrt_request ringrt_request_t;

/* Sets *done to 1 if ringrt_wait() would return at once, because the operation is complete or has failed, otherwise to
 * 0. The request must still be waited for, which tells how the operation ended. */
RINGRT_API ringrt_status_t ringrt_test(ringrt_request_t *request, int *done);
/* Waits for the operation to end, frees the request whatever the status, and returns how the operation ended; the line
 * is its handle's last error. Allowed after an abort and after ringrt_comm_destroy(), but call it before
 * ringrt_finalize(). */
RINGRT_API ringrt_status_t ringrt_wait(ringrt_request_t *request);

/* ---- create and destroy ------------------------------------------------------------------------- */

#define RINGRT_STORE_VALUE_BYTES 1024

/* Carries one short text from rank 0 to the other ranks: over c10d's Store, a PMI, a file, or as the two sides
 * of a broadcast (MPI_Bcast). Within ringrt_comm_create() rank 0 calls put once and every other rank calls get
 * once, with the same key; both return 0 on success. A value is printable ASCII without blanks, of at most
 * RINGRT_STORE_VALUE_BYTES including its 0. It is a secret: any process that can read it can join. */
typedef struct ringrt_store {
    void *context;
    int (*put)(void *context, const char *key, const char *value);
    int (*get)(void *context, const char *key, char *value, size_t bytes, uint32_t timeout_ms); /* waits for it */
} ringrt_store_t;

/* Zero selects the environment variable in brackets, or else the default in parentheses. Strings and structs that a
 * config points to are copied. Fill it with RINGRT_COMM_CONFIG_INIT. */
typedef struct ringrt_comm_config {
    size_t struct_size;          /* sizeof(ringrt_comm_config_t); allows fields to be added later */
    int rank, size;              /* size 0: from srun [SLURM_PROCID, SLURM_STEP_NUM_TASKS]; outside srun a single
                                    rank */
    const ringrt_store_t *store; /* carries the start-up text; copied. NULL: use `rendezvous` */
    const char *rendezvous;      /* how the ranks find rank 0 [RINGRT_RENDEZVOUS] (a file in the working directory,
                                    named by job, step and restart): a file's path in a directory that all ranks share,
                                    or "tcp:HOST:PORT" with RINGRT_SECRET */
    const char *name;            /* the key in the store, and part of the file's name ("world"). Communicators that
                                    are created at the same time, or over one store, need different names */
    uint32_t timeout_ms;         /* of one operation without progress [RINGRT_TIMEOUT_MS] (600000) */
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

/* Collective. Connects the ranks: through shared memory within a node, through TCP between nodes. With config
 * NULL everything comes from the environment. */
RINGRT_API ringrt_status_t ringrt_comm_create(ringrt_comm_t **out, const ringrt_comm_config_t *config);

#define RINGRT_COMM_NO_COLOR (-1)

/* Collective over `comm`. Creates a communicator for each color. Its ranks are ordered by key, and by their
 * rank in comm if keys are equal. Colors are 0 or above; with RINGRT_COMM_NO_COLOR *out becomes NULL. The new
 * communicator inherits its parent's timeouts and may outlive it. */
RINGRT_API ringrt_status_t ringrt_comm_split(ringrt_comm_t *comm, int color, int key, ringrt_comm_t **out);

/* Collective if all operations succeeded: returns when all ranks have called it. After a failure, or with
 * requests in progress (they end with RINGRT_ABORTED), it waits for no rank. `comm` may be NULL. */
RINGRT_API ringrt_status_t ringrt_comm_destroy(ringrt_comm_t *comm);

/* Makes every operation of this rank, in progress or later, return RINGRT_ABORTED, and its peers' operations
 * RINGRT_PEER_LOST. May be called from any thread. ringrt_comm_destroy() must still be called. */
RINGRT_API ringrt_status_t ringrt_comm_abort(ringrt_comm_t *comm);

/* Sets *status to RINGRT_OK, or to the failure that every later operation will return, whichever operation and
 * thread caused it. Does not block. */
RINGRT_API ringrt_status_t ringrt_comm_async_error(const ringrt_comm_t *comm, ringrt_status_t *status);

/* One line about the last failure of `comm`; with comm NULL, about a failed ringrt_comm_create() of this
 * thread. Never NULL. Valid until the next call by this thread. */
RINGRT_API const char *ringrt_comm_last_error(const ringrt_comm_t *comm);

RINGRT_API int ringrt_comm_rank(const ringrt_comm_t *comm); /* -1 if comm is NULL */
RINGRT_API int ringrt_comm_size(const ringrt_comm_t *comm); /* -1 if comm is NULL */

/* ---- operations --------------------------------------------------------------------------------- */

/* With request NULL an operation blocks until it is complete: its inputs may be overwritten and its outputs are valid.
 * Otherwise it returns at once, and the buffers belong to it until ringrt_wait(). Other operations may be called
 * meanwhile, with or without a request; they run in order. */

/* Sets the CUDA stream (a cudaStream_t) for buffers in GPU memory; initially the default stream. Allreduce,
 * reduce_scatter, allgather, reduce and broadcast accept such buffers, on the rank's GPU at all ranks; the other
 * operations return RINGRT_UNSUPPORTED. An operation starts after all work enqueued on `stream` before it runs.
 * If each rank has its own GPU and send and recv are both in GPU memory, NCCL performs the first three, and they
 * are stream-ordered: an operation is complete once it is enqueued, and work enqueued on `stream` after that (with
 * a request, after ringrt_wait()) runs after it. A later call returns its errors. The other operations pass
 * through host memory and are complete when the result is there. NCCL before 2.18 is not used, and before 2.24 has
 * no 8-bit floats. Not collective. */
RINGRT_API ringrt_status_t ringrt_comm_set_stream(ringrt_comm_t *comm, void *stream);

/* recv[i] = op over ranks of send[i], bit-identical on all ranks. Values are added by rank, or in the order set
 * by RINGRT_ORDER (ringrt(3)). recv may be send. */
RINGRT_API ringrt_status_t ringrt_comm_allreduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                 ringrt_op_t op, ringrt_comm_t *comm,
                                                 ringrt_request_t **request);
/* Like ringrt_comm_allreduce(), at the same cost, but only root gets the result. recv is used at root only. */
RINGRT_API ringrt_status_t ringrt_comm_reduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                              ringrt_op_t op, int root, ringrt_comm_t *comm,
                                              ringrt_request_t **request);
/* send holds size blocks of recv_count elements. Rank r gets the reduced block r in recv, which may be that block of
 * send. */
RINGRT_API ringrt_status_t ringrt_comm_reduce_scatter(const void *send, void *recv, size_t recv_count,
                                                      ringrt_dtype_t dtype, ringrt_op_t op, ringrt_comm_t *comm,
                                                      ringrt_request_t **request);
/* Gathers send_count elements from each rank, in rank order, on all ranks. send may be this rank's block of recv. */
RINGRT_API ringrt_status_t ringrt_comm_allgather(const void *send, void *recv, size_t send_count,
                                                 ringrt_dtype_t dtype, ringrt_comm_t *comm,
                                                 ringrt_request_t **request);
/* Copies root's send to recv on all ranks. send is used at root only, and may be recv. */
RINGRT_API ringrt_status_t ringrt_comm_broadcast(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                 int root, ringrt_comm_t *comm, ringrt_request_t **request);
/* send holds size blocks of `count` elements; block r goes to rank r. recv gets one block from each rank, in
 * rank order, and may not overlap send. */
RINGRT_API ringrt_status_t ringrt_comm_alltoall(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                ringrt_comm_t *comm, ringrt_request_t **request);
/* Gathers `count` elements from each rank, in rank order, into root's recv. recv is used at root only. Root's
 * send may be its block of recv. */
RINGRT_API ringrt_status_t ringrt_comm_gather(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                              int root, ringrt_comm_t *comm, ringrt_request_t **request);
/* Copies block r of `count` elements of root's send to rank r's recv. send is used at root only. Root's recv
 * may be its block of send. */
RINGRT_API ringrt_status_t ringrt_comm_scatter(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                               int root, ringrt_comm_t *comm, ringrt_request_t **request);
/* Completes at no rank before all ranks have called. */
RINGRT_API ringrt_status_t ringrt_comm_barrier(ringrt_comm_t *comm, ringrt_request_t **request);

/* Sends `count` elements to rank peer, which calls ringrt_comm_recv() with the same number of bytes and the
 * same tag (0 or more). Only these two ranks take part. Messages with one tag between two ranks are received in
 * the order in which they were sent; a message with another tag that arrives first is kept in memory. A send
 * completes when `send` may be overwritten. That may be before the peer has received, but do not rely on it:
 * operations run in order, so two ranks that send to each other outside a group may deadlock. */
RINGRT_API ringrt_status_t ringrt_comm_send(const void *send, size_t count, ringrt_dtype_t dtype, int peer, int tag,
                                            ringrt_comm_t *comm, ringrt_request_t **request);
RINGRT_API ringrt_status_t ringrt_comm_recv(void *recv, size_t count, ringrt_dtype_t dtype, int peer, int tag,
                                            ringrt_comm_t *comm, ringrt_request_t **request);

/* Groups the operations of `comm` that are called between start and end, all without requests. They start at
 * ringrt_comm_group_end() and form one operation with one request. All sends and receives progress at the same
 * time, in whatever order they were called; then the collectives run in call order. A rank may send to itself
 * in a group. If one call has an invalid argument, the whole group is rejected: ringrt_comm_group_end() returns
 * the same error and nothing has started. Groups do not nest. */
RINGRT_API ringrt_status_t ringrt_comm_group_start(ringrt_comm_t *comm);
RINGRT_API ringrt_status_t ringrt_comm_group_end(ringrt_comm_t *comm, ringrt_request_t **request);

/* Allocates memory that the ranks of a node read in place. ringrt_comm_allreduce() is fastest if send and recv
 * of all ranks are in such memory; ordinary memory always works. Not collective. The memory is zeroed and
 * aligned to 256 bytes. Returns RINGRT_NO_MEMORY if /dev/shm is full. ringrt_comm_destroy() frees what
 * ringrt_comm_mem_free() has not. */
RINGRT_API ringrt_status_t ringrt_comm_mem_alloc(ringrt_comm_t *comm, size_t bytes, void **out);
RINGRT_API ringrt_status_t ringrt_comm_mem_free(ringrt_comm_t *comm, void *memory);

#ifdef __cplusplus
}
#endif

/* clang-format on */
#endif
