/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ringrt: the companion library of a malleable training job.
 *
 * A ringrt_t is a communicator (ringrt_comm.h), a checkpoint handle (ringrt_checkpoint.h) and a job
 * handle (ringrt_job.h) in one, over the same code. It adds what needs all three: gradients that
 * are summed during the backward pass, saves on the nodes' own disks, and resizing in place.
 * ringrt_step() does by itself the saves that ringrt_job_step() asks for. A framework that has some
 * of these already uses the handles on their own.
 *
 * In short (contrib/examples/digits_training.cpp is the long form):
 *
 *     ringrt_config_t config = RINGRT_CONFIG_INIT;     // the rest comes from Slurm's environment
 *     config.global_batch = 256;                       // samples per step, over all ranks
 *     ringrt_t *rt;
 *     ringrt_init(&rt, &config);                       // one rank per GPU
 *     ringrt_register(rt, "w", w, RINGRT_FLOAT32, 2, (uint64_t[]){64, 10});
 *     uint64_t step = 0;
 *     ringrt_restore(rt, &step);                       // RINGRT_NOT_FOUND: a first start
 *     for (ringrt_action_t action = RINGRT_CONTINUE; step < steps && action == RINGRT_CONTINUE;) {
 *         ringrt_batch_t batch;
 *         ringrt_batch(rt, &batch);                    // this rank's samples of the global batch
 *         // grad: the gradients of samples [batch.first, batch.first + batch.count)
 *         ringrt_allreduce(grad, grad, n, RINGRT_FLOAT32, RINGRT_SUM, rt);
 *         // update w with grad
 *         ringrt_step(rt, ++step, &action);            // may save, and may return RINGRT_LEAVE
 *     }
 *     ringrt_finalize(rt);
 *
 * Every function marked "collective" must be called by all ranks in the same order. Every function
 * returns a status. On any status but RINGRT_OK the output parameters are unchanged unless the
 * function's comment says otherwise, and ringrt_last_error() returns one line with the cause and
 * the remedy. No function exits, aborts or throws. A handle belongs to the process that created it:
 * after fork() the child's copy returns RINGRT_FORKED. Only ringrt_abort() and
 * ringrt_gradient_ready() may be called from another thread while a call is in progress.
 */
#ifndef RINGRT_H
#define RINGRT_H

#include "ringrt_job.h" /* shares of a batch, actions; statuses and types; the handles on their own */

/* Columns are aligned as tables. */
/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ringrt_runtime ringrt_t; /* not "struct ringrt": that name is the C++ namespace */

/* One line about the last failure of `rt`; with rt NULL, about a failed ringrt_init() of this thread. Never
 * NULL. Valid until the next call by this thread. */
RINGRT_API const char *ringrt_last_error(const ringrt_t *rt);

/* Gathers `bytes` from each rank into recv (size·bytes, in rank order) on all ranks. Returns 0 on success. */
typedef int (*ringrt_allgather_fn)(void *context, const void *send, void *recv, size_t bytes);

typedef struct ringrt_piece {
    void *data;
    size_t bytes;
} ringrt_piece_t;

/* Point-to-point messages over a transport of the caller; ringrt_mpi.h implements it with MPI. No function
 * blocks; all return 0 on success. Different threads may call them, but only one at a time. A message may be
 * received in pieces that differ from those it was sent in. Messages with the same sender, receiver and tag (0
 * or 1) arrive in the order in which they were sent. */
typedef struct ringrt_messenger {
    void *context;
    int (*send)(void *context, const ringrt_piece_t *pieces, size_t count, int peer, int tag, void **request);
    int (*receive)(void *context, const ringrt_piece_t *pieces, size_t count, int peer, int tag, void **request);
    int (*test)(void *context, void **request, int *done); /* sets *request to NULL when done */
    int (*cancel)(void *context, void **request); /* of a receive; if not 0, its memory may still be written */
    void (*release)(void *context, int clean);    /* clean 1: no message is in flight at any rank */
} ringrt_messenger_t;

/* Zero selects the environment variable in brackets, or else the default in parentheses. Strings and structs that a
 * config points to are copied. Fill it with RINGRT_CONFIG_INIT. */
typedef struct ringrt_config {
    size_t struct_size;          /* sizeof(ringrt_config_t); allows fields to be added later */
    int rank, size;              /* [SLURM_PROCID, SLURM_STEP_NUM_TASKS]; size 0: from the environment */
    int local_rank, local_size;  /* ranks of this node [SLURM_LOCALID]; local_size 0: detected */
    const char *rendezvous;      /* how the ranks find rank 0 [RINGRT_RENDEZVOUS] (a file in checkpoint_dir): a
                                    file's path, or "tcp:HOST:PORT" */
    ringrt_allgather_fn allgather; /* start through the caller's all-gather, e.g. of MPI (ringrt_mpi.h) */
    void *allgather_context;
    const char *transport;       /* between nodes: "tcp", or "mpi" through messenger [RINGRT_TRANSPORT] (tcp); the
                                    same on all ranks */
    const ringrt_messenger_t *messenger; /* copied by ringrt_init(); ringrt_mpi.h provides it */
    uint32_t timeout_ms;         /* of one operation without progress; a save or restore, in which ranks wait for
                                    files, has ten times as long, at most 30 minutes [RINGRT_TIMEOUT_MS] (600000) */
    uint32_t start_timeout_ms;   /* of start-up [RINGRT_START_TIMEOUT_MS] (120000) */
    uint32_t global_batch;       /* samples per step over all ranks at the reference size; 0: not used, and the
                                    scheduler counts steps instead of samples */
    uint32_t reference_size;     /* number of ranks for which global_batch was tuned (1); for FIXED_BATCH_PER_GPU */
    uint32_t micro_batch_max;    /* samples that a GPU can hold at once; 0: no limit, no accumulation */
    ringrt_batch_rule_t batch_rule;
    uint64_t steps_total;        /* length of the training in steps; 0: unknown */
    uint64_t samples_total;      /* length of the training in samples, over all epochs; replaces steps_total if the
                                    samples per step change; 0: unknown */
    uint64_t seed;               /* of the sample order; stored in checkpoints: a restore with another seed logs a
                                    warning */
    const char *checkpoint_dir;  /* shared by all ranks [RINGRT_CHECKPOINT_DIR] (./ringrt-JOBID) */
    uint32_t keep_checkpoints;   /* how many of the newest, plus the one this run started from
                                    [RINGRT_KEEP_CHECKPOINTS] (3) */
    uint32_t save_interval_s;    /* between periodic checkpoints [RINGRT_SAVE_INTERVAL_S] (600) */
    uint32_t save_inline;        /* 1: training waits for periodic saves [RINGRT_SAVE_INLINE] (0: they are written
                                    from a copy while it continues) */
    uint32_t telemetry_s;        /* shortest time between two reports [RINGRT_TELEMETRY_S] (30) */
    uint32_t live_resize;        /* 1: ranks join and leave at run time, see ringrt_restore() [RINGRT_LIVE_RESIZE]
                                    (0) */
    uint32_t live_copy_steps;    /* with live_resize and rows: steps between copies of the state in the base's
                                    memory, see ringrt_register_placed_rows() [RINGRT_LIVE_COPY_STEPS] (0: none) */
} ringrt_config_t;

#ifdef __cplusplus
inline ringrt_config_t ringrt_config_init() {
    ringrt_config_t config = ringrt_config_t();
    config.struct_size = sizeof config;
    return config;
}
#define RINGRT_CONFIG_INIT ringrt_config_init()
#else
#define RINGRT_CONFIG_INIT {.struct_size = sizeof(ringrt_config_t)}
#endif

/* Collective. Connects the ranks. With config NULL everything comes from the environment. Outside Slurm and
 * without configuration the job is a single rank. */
RINGRT_API ringrt_status_t ringrt_init(ringrt_t **out, const ringrt_config_t *config);

/* Collective if the run succeeded; after an error it only frees this rank's resources. `rt` may be NULL. */
RINGRT_API ringrt_status_t ringrt_finalize(ringrt_t *rt);

/* Makes every call of this rank, in progress or later, return RINGRT_ABORTED, and its peers' calls
 * RINGRT_PEER_LOST. May be called from any thread. */
RINGRT_API ringrt_status_t ringrt_abort(ringrt_t *rt);

/* -1 if rt is NULL. With live_resize, ringrt_step() and ringrt_restore() may change rank and size. */
RINGRT_API int ringrt_rank(const ringrt_t *rt);
RINGRT_API int ringrt_size(const ringrt_t *rt);
RINGRT_API int ringrt_local_rank(const ringrt_t *rt); /* the GPU to use: one rank per GPU */
RINGRT_API int ringrt_restarts(const ringrt_t *rt);   /* how often this job was requeued */

/* Sets the CUDA stream (a cudaStream_t) for buffers in GPU memory; initially the default stream.
 * ringrt_allreduce(), ringrt_allreduce_start(), ringrt_reduce_scatter(), ringrt_allgather() and gradients accept GPU
 * buffers if send and recv are on the rank's GPU at all ranks. ringrt_broadcast() copies them through host memory, and
 * so do ringrt_reduce_scatter() and ringrt_allgather() of which only one buffer is there. For registered buffers see
 * ringrt_register().
 *
 * A reduction starts after all work enqueued on `stream` before the call. If each rank has its own GPU, NCCL
 * performs these (sums not in rank order) and all but _start() are stream-ordered: they return at once, and
 * work enqueued on `stream` afterwards runs after them. If a rank is lost, NCCL fails or the timeout
 * expires, the stream's wait ends and the next call returns the error: check a status before you use earlier
 * results. Ranks that call different reductions get RINGRT_MISMATCH from their next call on host memory, at the
 * latest from ringrt_step().
 *
 * If ranks of a node share a GPU, reductions use CUDA IPC, or host memory if IPC is unavailable. In this case,
 * and with live_resize, each call returns with its result. A stream that is being captured into a CUDA graph is
 * rejected. doc/gpu.md has the report of a real GPU. */
RINGRT_API ringrt_status_t ringrt_set_stream(ringrt_t *rt, void *stream);

/* ---- collectives ------------------------------------------------------------------------------- */

/* The arguments have NCCL's order, the handle last; the functions above and below, which manage it, take it first.
 * Counts, NULL, buffers in place and buffers that overlap are as in ringrt_comm.h. */

/* Collective. recv[i] = op over ranks of send[i]. Values are added in the order set by RINGRT_ORDER (default:
 * by rank; see ringrt(3)), so the result is bit-identical on all ranks. recv may be send. */
RINGRT_API ringrt_status_t ringrt_allreduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                            ringrt_op_t op, ringrt_t *rt);
/* Collective. send holds size blocks of recv_count elements. Rank r gets the reduced block r in recv, which may be
 * that block of send. */
RINGRT_API ringrt_status_t ringrt_reduce_scatter(const void *send, void *recv, size_t recv_count,
                                                 ringrt_dtype_t dtype, ringrt_op_t op, ringrt_t *rt);
/* Collective. Gathers send_count elements from each rank, in rank order, on all ranks. send may be this rank's block
 * of recv. */
RINGRT_API ringrt_status_t ringrt_allgather(const void *send, void *recv, size_t send_count, ringrt_dtype_t dtype,
                                            ringrt_t *rt);

/* Collective. Copies root's send to recv on all ranks. send is used at root only, and may be recv. Bytes are
 * RINGRT_UINT8. */
RINGRT_API ringrt_status_t ringrt_broadcast(const void *send, void *recv, size_t count, ringrt_dtype_t dtype, int root,
                                            ringrt_t *rt);
/* Collective. No rank returns before all ranks have called. */
RINGRT_API ringrt_status_t ringrt_barrier(ringrt_t *rt);

/* Allocates memory that the ranks of a node can read in place. ringrt_allreduce() is fastest if send and recv
 * of all ranks are in such memory; ordinary memory always works. The memory is zeroed and aligned to 256 bytes.
 * Returns RINGRT_NO_MEMORY if /dev/shm is full. ringrt_finalize() frees what ringrt_mem_free() has not. */
RINGRT_API ringrt_status_t ringrt_mem_alloc(ringrt_t *rt, size_t bytes, void **out);
RINGRT_API ringrt_status_t ringrt_mem_free(ringrt_t *rt, void *memory);

/* Collective; returns at once. A library thread runs the started operations, lowest `priority` first (the layer
 * that the next forward pass needs first). All ranks must start the same operations in the same order. The
 * buffers belong to the operation until ringrt_wait(). No other collective may be called until every started
 * operation has been waited for. */
RINGRT_API ringrt_status_t ringrt_allreduce_start(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                                  ringrt_op_t op, int priority, ringrt_t *rt,
                                                  ringrt_request_t **request);

/* ---- gradients: summed while the backward pass runs and the next forward pass begins ------------ */

/* Registers a gradient of `count` elements; *id counts up from 0. Register gradients in the order in which the
 * forward pass uses them, the same on all ranks, before the first is ready. All have the same dtype and op.
 * Once gradients are registered, the other collectives and ringrt_step() may be called only between steps:
 * after a step's last ringrt_gradient_wait() and before the next step's first ringrt_gradient_ready(). With
 * live_resize: register gradients before ringrt_restore(); the first wait of a step then returns when all its sums
 * are complete, also on a GPU. After RINGRT_PEER_LOST the step is discarded; call ringrt_restore()
 * when no other thread is in ringrt_gradient_ready(). The buffers are then the program's again. */
RINGRT_API ringrt_status_t ringrt_gradient_register(ringrt_t *rt, const char *name, size_t count,
                                                    ringrt_dtype_t dtype, ringrt_op_t op, int *id);

/* Reports that the backward pass has produced this gradient. May be called from any thread, in any order;
 * returns at once. The buffer belongs to the library until ringrt_gradient_wait() for it returns; then it holds
 * the sum. Each rank must have at least one gradient ready in every step. In GPU memory (all gradients of a
 * rank, or none) the gradient is ready when the stream of ringrt_set_stream() reaches this call. */
RINGRT_API ringrt_status_t ringrt_gradient_ready(ringrt_t *rt, int id, void *buffer);

/* Waits for the sum of this gradient. Call it for every gradient in every step, before the layer that needs it.
 * A rank's first call in a step declares its backward pass finished: gradients that are not ready by then count
 * as zero in this step. *sum (sum may be NULL) is the buffer given to ringrt_gradient_ready(); if there was
 * none, it is library memory that is valid until the next step's first gradient, but on a GPU with live_resize
 * only until ringrt_step(). Before the first step it is NULL. For stream-ordered sums in GPU memory the stream waits,
 * not the caller. */
RINGRT_API ringrt_status_t ringrt_gradient_wait(ringrt_t *rt, int id, const void **sum);

/* ---- the share of a batch ---------------------------------------------------------------------- */

/* Returns this rank's share at the current size. The shares of all ranks tile the batch exactly. */
RINGRT_API ringrt_status_t ringrt_batch(const ringrt_t *rt, ringrt_batch_t *out);

/* Sets global_batch from the current step on, for a batch that changes during the training. Call it between two
 * steps with the same value on all ranks, and again after ringrt_restore(): checkpoints do not store it. The
 * configured global_batch must stay the same in all runs. */
RINGRT_API ringrt_status_t ringrt_set_batch(ringrt_t *rt, uint32_t global_batch);

/* Samples in the order of an epoch: ringrt_sample() in ringrt_job.h. */

/* ---- checkpoints -------------------------------------------------------------------------------- */

/* Registers a buffer that every rank holds whole and equal (parameters, optimizer state). `shape` has ndim
 * extents. The buffer remains the caller's and must live until ringrt_finalize(). Register the same buffers on
 * all ranks, in any order: at most 4096, with names [A-Za-z0-9._/-]{1,200}.
 *
 * The buffer may be in the memory of the rank's GPU (CUDA; RINGRT_UNSUPPORTED if libringrt was built without
 * NCCL). A save, or a transfer to joining ranks, copies what it holds after all work enqueued on the stream of
 * ringrt_set_stream() before the call; a restore is ordered after that work as well. Data passes through 32 MiB
 * of pinned memory, and the files are the same as for ordinary memory. If a GPU copy fails, the checkpoint
 * fails or the join is called off. */
RINGRT_API ringrt_status_t ringrt_register(ringrt_t *rt, const char *name, void *data,
                                           ringrt_dtype_t dtype, int ndim, const uint64_t *shape);

/* Like ringrt_register(), for a buffer of which this rank holds rows [first_row, first_row + rows) of the first
 * extent. The ranks' rows must tile the buffer. After a resize each rank reads its new rows. */
RINGRT_API ringrt_status_t ringrt_register_rows(ringrt_t *rt, const char *name, void *data,
                                                ringrt_dtype_t dtype, int ndim, const uint64_t *shape,
                                                uint64_t first_row, uint64_t rows);

/* Sets callbacks for a program with its own checkpoint format, in addition to registered buffers or without any. Call
 * it on all ranks before the first restore, save or step.
 *
 * Every save calls `save` on every rank, after the ranks have agreed on the step. The program chooses which
 * ranks write what, but together they must write at least one file. Files are plain files named [A-Za-z0-9._-],
 * not "manifest" or "shard-…", and closed when `save` returns. The library syncs and hashes them, and renames
 * the directory to its final name only when everything is on disk. If `save` fails at one rank, the checkpoint
 * fails: a resize is called off and training continues. ringrt_restore() calls `load` on every rank, for the
 * newest checkpoint in which every file is intact; if `load` fails, it returns RINGRT_SYSTEM_ERROR with the
 * callback's line.
 *
 * Callbacks run in the thread that called the library, never in a signal handler. They may communicate with
 * other ranks' callbacks by other means, but may not call any function of this handle. The node-local level
 * (RINGRT_CHECKPOINT_LOCAL) is not used with them. */
RINGRT_API ringrt_status_t ringrt_set_saver(ringrt_t *rt, ringrt_checkpoint_saver_fn save,
                                            ringrt_checkpoint_saver_fn load, void *context);

/* Collective. Loads the newest intact checkpoint into the registered buffers and sets *step. Returns
 * RINGRT_NOT_FOUND if there is no checkpoint. Damaged checkpoints are set aside with a line in the log; if all
 * are damaged, RINGRT_CORRUPT names them. After any failure but RINGRT_NOT_FOUND the buffers' contents are
 * undefined. With live_resize ("Resizing in place" in ringrt(3)) it joins an extension's rank to its base;
 * after RINGRT_PEER_LOST it returns to the newest step that a rank of the base has finished, from that rank's
 * memory. */
RINGRT_API ringrt_status_t ringrt_restore(ringrt_t *rt, uint64_t *step);

/* Collective. Saves the registered buffers as of `step`. Returns when the checkpoint is on disk. */
RINGRT_API ringrt_status_t ringrt_save(ringrt_t *rt, uint64_t step);

/* ---- the step boundary -------------------------------------------------------------------------- */

/* Collective; call it after every finished step. The ranks agree whether the scheduler has requested a resize
 * or a periodic save is due. If so, they save. For a resize rank 0 then has the job requeued, and all ranks wait
 * until Slurm stops the job. If any part of this fails, the resize is called off, a line on stderr gives the
 * cause, and *action is RINGRT_CONTINUE. A failed periodic save is also reported on stderr only, with RINGRT_OK.
 * After any other status (RINGRT_SUPERSEDED, or the ranks cannot communicate) end the program. */
RINGRT_API ringrt_status_t ringrt_step(ringrt_t *rt, uint64_t step, ringrt_action_t *action);

/* What the scheduler learns, as by ringrt_job_set_steps_left() and ringrt_job_set_samples_left(). */
RINGRT_API ringrt_status_t ringrt_set_steps_left(ringrt_t *rt, uint64_t steps_left);
RINGRT_API ringrt_status_t ringrt_set_samples_left(ringrt_t *rt, uint64_t samples_left);

/* As ringrt_job_set_loss(): call it before that step's ringrt_step(). */
RINGRT_API ringrt_status_t ringrt_set_loss(ringrt_t *rt, double loss, double goal);

#ifdef __cplusplus
}
#endif
/* clang-format on */

#include "ringrt_live.h" /* callbacks for live_resize */
#endif
