/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ringrt: the companion library of a malleable training job.
 *
 * In short (contrib/examples/digits_training.cpp is the long form):
 *
 *     ringrt_config_t config = RINGRT_CONFIG_INIT;     // the rest comes from Slurm's environment
 *     config.global_batch = 256;                       // samples of one step, over all ranks
 *     ringrt_t *rt;
 *     ringrt_init(&rt, &config);                       // one rank per GPU
 *     ringrt_register(rt, "w", w, RINGRT_FLOAT32, 2, (uint64_t[]){64, 10});
 *     uint64_t step = 0;
 *     ringrt_restore(rt, &step);                       // RINGRT_NOT_FOUND: a first start
 *     for (ringrt_action_t action = RINGRT_CONTINUE; step < steps && action == RINGRT_CONTINUE;) {
 *         ringrt_batch_t batch;
 *         ringrt_batch(rt, &batch);                    // which samples of the global batch are
 * mine
 *         // grad: the gradients of samples [batch.first, batch.first + batch.count)
 *         ringrt_allreduce(rt, grad, grad, n, RINGRT_FLOAT32, RINGRT_SUM);
 *         // w: one step along them
 *         ringrt_step(rt, ++step, &action);            // may save, and say: leave
 *     }
 *     ringrt_finalize(rt);
 *
 * Every function marked "collective" must be called by all ranks in the same order. Every function
 * returns a status; on anything but RINGRT_OK the outputs are unchanged and ringrt_last_error()
 * holds one line that says what happened and what to do. No function exits, aborts or throws. A
 * handle belongs to the process that made it: after fork() the child's copy answers RINGRT_FORKED.
 * Only ringrt_abort() may be called from another thread while a call is under way.
 */
#ifndef RINGRT_H
#define RINGRT_H

#include "ringrt_comm.h" /* statuses, types and operations; communicators by themselves */

/* The columns are read as tables. */
/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ringrt_runtime ringrt_t; /* not "struct ringrt": the C++ namespace has that name */

/* One line about the last failure of `rt`, or of a failed ringrt_init() of this thread where rt is
 * NULL. Valid until this thread asks again. Never NULL. */
RINGRT_API const char *ringrt_last_error(const ringrt_t *rt);

typedef enum ringrt_batch_rule {
    RINGRT_FIXED_GLOBAL_BATCH = 0, /* the default: results do not depend on the number of ranks */
    RINGRT_FIXED_BATCH_PER_GPU     /* the global batch grows with the ranks; scale the learning rate */
} ringrt_batch_rule_t;

/* Gathers `bytes` from each rank into recv (size·bytes, in rank order) on all ranks; 0 on success. */
typedef int (*ringrt_allgather_fn)(void *context, const void *send, void *recv, size_t bytes);

typedef struct ringrt_piece {
    void *data;
    size_t bytes;
} ringrt_piece_t;

/* Messages between ranks through something of the caller's, as ringrt_mpi.h makes from an MPI. No function
 * waits; all return 0 on success. They are called by one thread at a time, not always the same one. A
 * message may be cut into other pieces where it is received than where it was sent. Messages of one
 * sender, receiver and tag (0 or 1) arrive in the order in which they were sent. */
typedef struct ringrt_messenger {
    void *context;
    int (*send)(void *context, const ringrt_piece_t *pieces, size_t count, int peer, int tag, void **request);
    int (*receive)(void *context, const ringrt_piece_t *pieces, size_t count, int peer, int tag, void **request);
    int (*test)(void *context, void **request, int *done); /* *request becomes NULL when done */
    int (*cancel)(void *context, void **request); /* of a receive; not 0: its memory may still be written */
    void (*release)(void *context, int clean);    /* clean 1: nothing is under way, at any rank */
} ringrt_messenger_t;

/* Zero means: the environment variable in brackets, else the default in parentheses. */
typedef struct ringrt_config {
    size_t struct_size;          /* sizeof(ringrt_config_t), so that fields can be added later */
    int rank, size;              /* [SLURM_PROCID, SLURM_NTASKS]; size 0: from the environment */
    int local_rank, local_size;  /* ranks of this node [SLURM_LOCALID]; local_size 0: found out */
    const char *checkpoint_dir;  /* shared by all ranks [RINGRT_CHECKPOINT_DIR] (./ringrt-JOBID) */
    const char *rendezvous;      /* where rank 0 is met [RINGRT_RENDEZVOUS] (a file in checkpoint_dir):
                                    a file's path, or "tcp:HOST:PORT" */
    ringrt_allgather_fn allgather; /* start from something that can gather, e.g. MPI (ringrt_mpi.h) */
    void *allgather_context;
    uint32_t global_batch;       /* samples per step over all ranks at the reference size; 0: not used, and
                                    the scheduler counts the job's steps, not its samples */
    uint32_t reference_size;     /* ranks at which global_batch was tuned (1); for FIXED_BATCH_PER_GPU */
    uint32_t micro_batch_max;    /* samples a GPU can hold at once; 0: no limit, no accumulation */
    ringrt_batch_rule_t batch_rule;
    uint64_t steps_total;        /* known length of the training, in steps; 0: unknown */
    uint32_t save_interval_s;    /* periodic checkpoints [RINGRT_SAVE_INTERVAL_S] (600) */
    uint32_t keep_checkpoints;   /* the newest so many, and the one this run started from
                                    [RINGRT_KEEP_CHECKPOINTS] (3) */
    uint32_t timeout_ms;         /* of one operation; in a save or a restore, where ranks wait for files,
                                    ten times as much, up to 30 minutes [RINGRT_TIMEOUT_MS] (600000) */
    uint32_t start_timeout_ms;   /* of the start-up [RINGRT_START_TIMEOUT_MS] (120000) */
    uint32_t telemetry_s;        /* least time between two reports [RINGRT_TELEMETRY_S] (30) */
    uint32_t save_inline;        /* 1: training waits for periodic saves too [RINGRT_SAVE_INLINE] (0: they
                                    are written from a copy while it goes on) */
    uint64_t seed;               /* of the order of samples: kept in checkpoints; a restore with another
                                    one warns */
    const char *transport;       /* between nodes: "tcp", or "mpi" through messenger [RINGRT_TRANSPORT] (tcp);
                                    the same on all ranks */
    const ringrt_messenger_t *messenger; /* copied by ringrt_init(); ringrt_mpi.h gives it */
    uint64_t samples_total;      /* known length of the training, in samples: all epochs together. Instead of
                                    steps_total where a step's samples change; 0: unknown */
    uint32_t live_resize;        /* 1: ranks come and go, see ringrt_restore() [RINGRT_LIVE_RESIZE] (0) */
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

/* Collective. Meets the other ranks; config NULL: everything from the environment. Outside Slurm and
 * with nothing configured it is one rank alone. */
RINGRT_API ringrt_status_t ringrt_init(ringrt_t **out, const ringrt_config_t *config);

/* Collective where the run ended well; after an error it only frees. NULL is allowed. */
RINGRT_API ringrt_status_t ringrt_finalize(ringrt_t *rt);

/* Makes every call of this rank, under way or to come, return RINGRT_ABORTED, and its peers' calls
 * RINGRT_PEER_LOST. From any thread. */
RINGRT_API ringrt_status_t ringrt_abort(ringrt_t *rt);

RINGRT_API int ringrt_rank(const ringrt_t *rt);
RINGRT_API int ringrt_size(const ringrt_t *rt);
RINGRT_API int ringrt_local_rank(const ringrt_t *rt); /* the GPU to use: one rank per GPU */
RINGRT_API int ringrt_restarts(const ringrt_t *rt);   /* how often this job was requeued */

/* Buffers in GPU memory (CUDA): ringrt_allreduce(), _start() and gradients take them, where send and recv are on
 * the rank's GPU at all ranks. A sum begins after all that was put into `stream` (a cudaStream_t; at first the
 * default stream) before the call. Where each rank has a GPU of its own it is made by NCCL (its sums are not in
 * rank order), and ringrt_allreduce() is in stream order: it returns at once, and what is put into `stream` after
 * it runs after the sum. What goes wrong meanwhile (a rank is lost, NCCL fails, time-out) ends the stream's wait,
 * and the next call answers it: look at a status before you use what was summed before it. Ranks that call
 * different sums are told (RINGRT_MISMATCH) at their next call over ordinary memory, at ringrt_step() at the
 * latest. Where ranks of one node share a GPU sums are made by CUDA IPC, else through the host; then, and with
 * live_resize, each call waits for its sum. A stream under capture into a CUDA graph is refused. The other
 * collectives pass through the host. Registered buffers may be there too: see ringrt_register(). Compiled and
 * tested over a made-up GPU; not run on a real one yet. */
RINGRT_API ringrt_status_t ringrt_set_stream(ringrt_t *rt, void *stream);

/* ---- collectives: element counts, not bytes ----------------------------------------------------- */

/* Collective. recv[i] = op over ranks of send[i]; added in the order that RINGRT_ORDER names (by rank where it
 * is not set; see ringrt(3)), so bit-identical on all ranks. recv may be send. */
RINGRT_API ringrt_status_t ringrt_allreduce(ringrt_t *rt, const void *send, void *recv, size_t count,
                                            ringrt_dtype_t dtype, ringrt_op_t op);
/* Collective. The same, but rank r gets only its share of the result, written to the start of recv:
 * count/size elements, one more for the first count%size ranks. recv may not overlap send. */
RINGRT_API ringrt_status_t ringrt_reduce_scatter(ringrt_t *rt, const void *send, void *recv, size_t count,
                                                 ringrt_dtype_t dtype, ringrt_op_t op);
/* Collective. The inverse: each rank gives its share (as above), all get the `count` elements. send may be
 * its place in recv. */
RINGRT_API ringrt_status_t ringrt_all_gather(ringrt_t *rt, const void *send, void *recv, size_t count,
                                             ringrt_dtype_t dtype);

/* Memory that the ranks of a node can read in place: ringrt_allreduce() is fastest where all ranks' send
 * and recv lie in such memory. Zero at first. RINGRT_NO_MEMORY where /dev/shm is full; ordinary memory
 * always works too. Aligned to 256 bytes. Freed by ringrt_free() before, or by itself in, ringrt_finalize(). */
RINGRT_API ringrt_status_t ringrt_alloc(ringrt_t *rt, size_t bytes, void **out);
RINGRT_API ringrt_status_t ringrt_free(ringrt_t *rt, void *memory);

typedef struct ringrt_request ringrt_request_t;

/* Collective, and returns at once. A thread of the library runs what was started, the lowest `priority`
 * first (the layer that the next forward pass needs soonest). All ranks start the same operations in the
 * same order. The buffers belong to the operation until ringrt_wait(); no other collective may be called
 * before all that was started has been waited for. */
RINGRT_API ringrt_status_t ringrt_allreduce_start(ringrt_t *rt, const void *send, void *recv, size_t count,
                                                  ringrt_dtype_t dtype, ringrt_op_t op, int priority,
                                                  ringrt_request_t **out);
/* Sets *done to 1 when ringrt_wait() would return at once, as it does where this call fails; else to 0. */
RINGRT_API ringrt_status_t ringrt_test(ringrt_t *rt, ringrt_request_t *request, int *done);
/* Waits for its end and frees it, whatever the status. */
RINGRT_API ringrt_status_t ringrt_wait(ringrt_t *rt, ringrt_request_t *request);

/* Collective. `bytes` of `buffer` from `root` to all. */
RINGRT_API ringrt_status_t ringrt_broadcast(ringrt_t *rt, void *buffer, size_t bytes, int root);
/* Collective. Nobody returns before all have called. */
RINGRT_API ringrt_status_t ringrt_barrier(ringrt_t *rt);

/* ---- gradients: summed while the backward pass runs and the next forward pass begins ------------ */

/* Names a gradient of `count` elements; *id counts up from 0. In the order in which the forward pass uses
 * them, the same on all ranks, before the first is ready; dtype and op are the same for all of them.
 * With gradients registered, the other collectives and ringrt_step() may be called only between steps:
 * after the last ringrt_gradient_wait() of a step and before the first ringrt_gradient_ready() of the next. */
RINGRT_API ringrt_status_t ringrt_gradient_register(ringrt_t *rt, const char *name, size_t count,
                                                    ringrt_dtype_t dtype, ringrt_op_t op, int *id);

/* The backward pass has produced this gradient. From any thread, in any order, and returns at once; the
 * buffer is the library's until ringrt_gradient_wait() for it returned, and then holds the sum. Each
 * rank has at least one gradient ready in every step. In GPU memory (all gradients of a rank, or none) it is ready
 * when the stream of ringrt_set_stream() has come to this call. */
RINGRT_API ringrt_status_t ringrt_gradient_ready(ringrt_t *rt, int id, void *buffer);

/* Returns when the sum of this gradient is there; call it before the layer that needs it, for every gradient in
 * every step, first when this rank's backward pass is over: gradients not ready by then count as zero in
 * this step. *sum (sum may be NULL) is the buffer given to ringrt_gradient_ready(), or where there was
 * none the library's memory, valid until the next step's first gradient; NULL before the first step. In GPU
 * memory, where sums are in stream order, it is the stream that waits, and not the caller. */
RINGRT_API ringrt_status_t ringrt_gradient_wait(ringrt_t *rt, int id, const void **sum);

/* ---- the share of a batch ---------------------------------------------------------------------- */

typedef struct ringrt_share { /* not ringrt_batch: the function has that name */
    uint64_t global;      /* samples of this step over all ranks */
    uint64_t first;       /* this rank's samples are [first, first + count) of the step's batch */
    uint64_t count;
    uint32_t micro_steps; /* accumulate over so many passes of at most micro_batch_max samples */
    uint64_t samples_seen; /* over all ranks before this step, carried over restarts: position in the
                              endless row of epochs, so sample i of this step is that at position
                              (samples_seen + first + i) % samples of epoch (… / samples) */
    double lr_scale;      /* factor on the learning rate tuned at reference_size (linear scaling) */
} ringrt_batch_t;

/* This rank's share at the present size; the shares of all ranks tile the batch exactly. */
RINGRT_API ringrt_status_t ringrt_batch(const ringrt_t *rt, ringrt_batch_t *out);

/* From the step under way on, global_batch is this: a batch that changes in the course of the training.
 * The same on all ranks, between two steps; not kept in checkpoints: say it again after ringrt_restore().
 * The configured global_batch stays the same in all runs. */
RINGRT_API ringrt_status_t ringrt_set_batch(ringrt_t *rt, uint32_t global_batch);

/* The sample at `position` (0 .. samples−1) of the shuffled epoch: a permutation of 0 .. samples−1 that
 * needs no memory and does not depend on the number of ranks. */
RINGRT_API uint64_t ringrt_sample(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t position);

/* ---- checkpoints -------------------------------------------------------------------------------- */

/* Names a buffer that every rank holds whole and equal (parameters, optimizer state), in ordinary memory or in
 * that of the rank's GPU (CUDA; RINGRT_UNSUPPORTED where this libringrt was built without NCCL). Of a GPU's, what
 * is saved, or sent to ranks that join, is what it holds after all that was put into ringrt_set_stream()'s stream
 * before the call, and a restore comes behind that too; it passes through 32 MiB of pinned memory, and the files
 * are the same. A GPU that fails to copy is a failed checkpoint, or a join that is called off.
 * `shape` has ndim extents; the buffer stays the caller's and must live until finalize.
 * The same on all ranks; the order does not matter. At most 4096 buffers, names [A-Za-z0-9._/-]{1,200}. */
RINGRT_API ringrt_status_t ringrt_register(ringrt_t *rt, const char *name, void *data,
                                           ringrt_dtype_t dtype, int ndim, const uint64_t *shape);

/* The same for a buffer of which this rank holds rows [first_row, first_row + rows) of the first
 * extent; the ranks' rows must tile it. After a resize each rank reads its new rows. */
RINGRT_API ringrt_status_t ringrt_register_rows(ringrt_t *rt, const char *name, void *data,
                                                ringrt_dtype_t dtype, int ndim, const uint64_t *shape,
                                                uint64_t first_row, uint64_t rows);

/* Writes the program's own files into `folder`, or reads them from there: 0 on success; else one line
 * in `error`, of at most error_bytes with its 0, says why not. */
typedef int (*ringrt_saver_fn)(void *context, const char *folder, uint64_t step, char *error,
                               size_t error_bytes);

/* For programs that have a checkpoint format of their own, beside the registered buffers or without any.
 * Every save calls `save` on every rank, after the ranks agreed on the step: which ranks write, and what, is
 * the program's choice, but all together write at least one file. Plain files named by [A-Za-z0-9._-], not
 * "manifest" or "shard-…", closed when `save` returns; the library syncs and hashes them, and the folder
 * gets its name only when all of it is on disk. A save that fails at one rank is a failed checkpoint: a
 * resize is called off, training goes on. ringrt_restore() calls `load` on every rank, for the newest
 * checkpoint of which every file is what was written; where `load` fails, RINGRT_SYSTEM_ERROR with its line.
 * Both are called by the thread that called the library, never by a signal handler. They may use other means
 * to talk to the other ranks' callbacks, but no function of this handle. Before the first restore, save or
 * step, and on all ranks. The nodes' own level (RINGRT_CHECKPOINT_LOCAL) is not used then. */
RINGRT_API ringrt_status_t ringrt_set_saver(ringrt_t *rt, ringrt_saver_fn save, ringrt_saver_fn load,
                                            void *context);

/* Gives this rank's whole state as bytes: *pieces points to *count of them, one after the other; all stays where
 * and what it is until the next pack, unpack or ringrt_finalize(). 0 on success; else a line in `error`. */
typedef int (*ringrt_pack_fn)(void *context, const ringrt_piece_t **pieces, size_t *count, char *error,
                              size_t error_bytes);
/* Takes such bytes, of another rank's pack, as its state; they are the library's, and gone when it returns. */
typedef int (*ringrt_unpack_fn)(void *context, const void *bytes, size_t count, char *error, size_t error_bytes);

/* With live_resize, for a program whose state is not registered buffers: its size may be another one each time.
 * `pack` is called at rank 0 where ranks join, and at the rank that is ahead after a loss; `unpack` at those who
 * get it. Both are called by ringrt_step() and ringrt_restore() alone, by the thread that called these, and may use
 * no function of this handle. Where `unpack` fails at a rank that joins, the join is called off and
 * ringrt_restore() says why. Before the first restore or step, and before ringrt_set_saver(); on all ranks.
 * Without live_resize nothing is kept. */
RINGRT_API ringrt_status_t ringrt_set_live_state(ringrt_t *rt, ringrt_pack_fn pack, ringrt_unpack_fn unpack,
                                                 void *context);

/* Collective. Loads the newest checkpoint that is whole into the registered buffers and sets *step.
 * RINGRT_NOT_FOUND: there is none. Damaged ones are set aside with a line in the log; where all are
 * damaged, RINGRT_CORRUPT names them. After any failure but RINGRT_NOT_FOUND the buffers' contents are
 * undefined. With live_resize ("Resizing in place" in ringrt(3)) it joins an extension's rank to its base, and
 * after RINGRT_PEER_LOST goes back to the newest step that a rank of the base finished, from its memory. */
RINGRT_API ringrt_status_t ringrt_restore(ringrt_t *rt, uint64_t *step);

/* Collective. Saves the registered buffers as of `step`, and returns when the checkpoint is on disk. */
RINGRT_API ringrt_status_t ringrt_save(ringrt_t *rt, uint64_t step);

/* ---- the step boundary -------------------------------------------------------------------------- */

typedef enum ringrt_action {
    RINGRT_CONTINUE = 0,
    RINGRT_LEAVE /* saved and requeued, or an extension that has left: clean up and end */
} ringrt_action_t;

/* Collective, after every finished step. Agrees with all ranks whether the scheduler asked for a resize
 * or a periodic save is due; saves; where a resize was asked, has the job requeued and waits until Slurm
 * takes it down. When anything on that way fails the resize is called off, a line says why, and
 * *action is RINGRT_CONTINUE. A failed save is such a line too, and RINGRT_OK. Not ok: RINGRT_SUPERSEDED,
 * or the ranks can no longer talk to each other: end the program. */
RINGRT_API ringrt_status_t ringrt_step(ringrt_t *rt, uint64_t step, ringrt_action_t *action);

/* Steps still to do, of the present size and batch, where it is not steps_total − step (early stopping,
 * a new schedule). */
RINGRT_API ringrt_status_t ringrt_set_steps_left(ringrt_t *rt, uint64_t steps_left);

/* The same in samples over all ranks, where a batch is configured. The last of the two calls counts. */
RINGRT_API ringrt_status_t ringrt_set_samples_left(ringrt_t *rt, uint64_t samples_left);

/* The training loss of the step under way, before its ringrt_step(); rank 0's counts, and not every step
 * must have one. Where the number of steps is not known, the scheduler is told how many are left by a
 * curve that is fitted to the losses (Optimus, EuroSys 2018: 1 / (b0 k + b1) + b2) and kept in the
 * checkpoints: until it falls to `goal`, or where goal is 0, until the loss would fall by less than 1 %
 * over the next tenth of the steps made. Where both are known and goal is not 0, whichever ends first
 * counts. A loss that is not finite and above 0 is left out. */
RINGRT_API ringrt_status_t ringrt_set_loss(ringrt_t *rt, double loss, double goal);

#ifdef __cplusplus
}
#endif
#endif
