/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ringrt_checkpoint: safe checkpoints of the ranks of a communicator, without a training job.
 *
 *     ringrt_checkpoint_t *checkpoint;
 *     ringrt_checkpoint_open(&checkpoint, comm, NULL);  // over a ringrt_comm_t
 *     ringrt_checkpoint_register(checkpoint, "w", w, RINGRT_FLOAT32, 2, (uint64_t[]){64, 10});
 *     uint64_t step = 0;
 *     ringrt_checkpoint_restore(checkpoint, &step);     // RINGRT_NOT_FOUND: a first start
 *     // change w
 *     ringrt_checkpoint_save(checkpoint, ++step);
 *     ringrt_checkpoint_close(checkpoint);
 *
 * A save is committed by the rename of a directory: after a crash at any moment the old or the new
 * checkpoint is there, whole. Everything is hashed, and a restore sets damaged checkpoints aside. A
 * new run of the program may have another number of ranks, which hold the tensors in other blocks.
 *
 * Every function returns a status. On any status but RINGRT_OK the outputs are unchanged, and
 * ringrt_checkpoint_last_error() returns one line with the cause and the remedy. No function exits,
 * aborts or throws. Functions marked "collective" must be called by all ranks in the same order;
 * they return the same status on all ranks unless the ranks lose each other. After
 * RINGRT_NOT_FOUND, RINGRT_INVALID_ARGUMENT, RINGRT_CHECKPOINT_FAILED, RINGRT_UNSUPPORTED, and
 * RINGRT_MISMATCH in what the ranks registered, the program can continue. After RINGRT_PEER_LOST,
 * RINGRT_TIMEOUT and RINGRT_ABORTED every later collective call fails, and after RINGRT_SUPERSEDED
 * every later save.
 *
 * The handle has its own connections: it may be used while operations of the communicator are in
 * progress, and may outlive it. One thread at a time may use it, except for
 * ringrt_checkpoint_abort() and ringrt_checkpoint_last_error(). It belongs to the process that
 * created it: after fork() the child's copy returns RINGRT_FORKED.
 */
#ifndef RINGRT_CHECKPOINT_H
#define RINGRT_CHECKPOINT_H

#include "ringrt_comm.h" /* statuses and types; the ranks */

/* Columns are aligned as tables. */
/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ringrt_checkpoint ringrt_checkpoint_t;

/* Zero selects the environment variable in brackets, or else the default in parentheses. */
typedef struct ringrt_checkpoint_config {
    size_t struct_size;          /* sizeof(ringrt_checkpoint_config_t); allows fields to be added later */
    const char *directory;       /* shared by all ranks, and by all runs; no other handle's
                                    [RINGRT_CHECKPOINT_DIR] (./ringrt-JOBID) */
    uint32_t keep;               /* how many of the newest, plus the one this run started from
                                    [RINGRT_KEEP_CHECKPOINTS] (3) */
    uint32_t reserved;           /* 0 */
} ringrt_checkpoint_config_t;

#ifdef __cplusplus
inline ringrt_checkpoint_config_t ringrt_checkpoint_config_init() {
    ringrt_checkpoint_config_t config = ringrt_checkpoint_config_t();
    config.struct_size = sizeof config;
    return config;
}
#define RINGRT_CHECKPOINT_CONFIG_INIT ringrt_checkpoint_config_init()
#else
#define RINGRT_CHECKPOINT_CONFIG_INIT {.struct_size = sizeof(ringrt_checkpoint_config_t)}
#endif

/* Collective over `comm`, whose ranks and timeouts it takes; a save or restore, in which ranks wait for files, has
 * ten times as long, at most 30 minutes. No file is touched before the first save or restore. With config NULL
 * everything comes from the environment. */
RINGRT_API ringrt_status_t ringrt_checkpoint_open(ringrt_checkpoint_t **out, ringrt_comm_t *comm,
                                                  const ringrt_checkpoint_config_t *config);

/* Collective if all collective calls succeeded; after a failure it waits for no rank. `checkpoint` may be NULL. A job
 * handle over it (ringrt_job.h) must be closed first, or RINGRT_INVALID_ARGUMENT is returned. */
RINGRT_API ringrt_status_t ringrt_checkpoint_close(ringrt_checkpoint_t *checkpoint);

/* Makes every collective call of this rank, in progress or later, return RINGRT_ABORTED, and its peers' calls
 * RINGRT_PEER_LOST. May be called from any thread. ringrt_checkpoint_close() must still be called. */
RINGRT_API ringrt_status_t ringrt_checkpoint_abort(ringrt_checkpoint_t *checkpoint);

/* One line about the last failure of `checkpoint`; with NULL, about a failed ringrt_checkpoint_open() of this
 * thread. Never NULL. Valid until the next call by this thread. */
RINGRT_API const char *ringrt_checkpoint_last_error(const ringrt_checkpoint_t *checkpoint);

/* ---- what a checkpoint holds -------------------------------------------------------------------- */

/* Registers a tensor that every rank holds whole and equal. `shape` has ndim extents (0 to 16; 0: a scalar). The
 * memory remains the caller's and must live until ringrt_checkpoint_close(). Register the same tensors on all
 * ranks, in any order: at most 4096, with names [A-Za-z0-9._/-]{1,200}.
 *
 * The tensor may be in the memory of the rank's GPU (CUDA; RINGRT_UNSUPPORTED if libringrt was built without
 * NCCL); see ringrt_checkpoint_set_stream(). */
RINGRT_API ringrt_status_t ringrt_checkpoint_register(ringrt_checkpoint_t *checkpoint, const char *name, void *data,
                                                      ringrt_dtype_t dtype, int ndim, const uint64_t *shape);

/* Like ringrt_checkpoint_register(), for a tensor of which this rank holds a block: in each dimension d the indices
 * from offset[d] to offset[d] + extent[d], in row-major order. The blocks of all ranks must hold each element
 * exactly once; they need not form a grid, and may be empty. Otherwise the next save or restore returns
 * RINGRT_MISMATCH, with a line that names the tensor and the ranks. RINGRT_UNSUPPORTED if the handle's job is resized in
 * place (config.live_resize in ringrt_job.h). */
RINGRT_API ringrt_status_t ringrt_checkpoint_register_block(ringrt_checkpoint_t *checkpoint, const char *name,
                                                            void *data, ringrt_dtype_t dtype, int ndim,
                                                            const uint64_t *shape, const uint64_t *offset,
                                                            const uint64_t *extent);

/* A tensor that is registered after a restore is filled at once, before the call returns, if the restored checkpoint
 * holds it: frameworks create optimizer state only when it is first needed. This lasts until the first save that
 * succeeds; a tensor registered later keeps its contents, as does one that the checkpoint does not hold. It is not
 * collective, and each rank reads its own block. Returns RINGRT_MISMATCH, and does not register the tensor, if it has
 * another type or shape in the checkpoint, and RINGRT_CORRUPT if the files were damaged since the restore, which has
 * checked them.
 *
 * ringrt_checkpoint_holds() sets *held to 1 if the restored checkpoint holds a tensor or blob of this name; otherwise,
 * and after the first save that succeeds, to 0. */
RINGRT_API ringrt_status_t ringrt_checkpoint_holds(ringrt_checkpoint_t *checkpoint, const char *name, int *held);

/* Sets this rank's part of a blob: bytes whose number may differ at each rank and change between saves (the state of
 * a random number generator or a data loader, a serialized object). They are copied, and are in every save until they
 * are set again. Each blob is set on all ranks, with 0 bytes on those that have none, and counts as a tensor of its
 * name. */
RINGRT_API ringrt_status_t ringrt_checkpoint_set_blob(ringrt_checkpoint_t *checkpoint, const char *name,
                                                      const void *data, size_t bytes);

/* Reads the part of a blob that rank `rank` of the restored checkpoint had set: any rank may read any part, because the
 * number of ranks may have changed. Not collective. *data is library memory, valid until the next call. Returns
 * RINGRT_NOT_FOUND if the checkpoint does not hold the blob, or was saved by fewer ranks (so rank 0, 1, 2 and so on can
 * be read until then), if nothing was restored, and after the first save that succeeds.
 *
 * After ringrt_job_resize() it reads, in place of a restored checkpoint, the blobs that rank *root had set, and nothing
 * else; with *root -1 there are none. ringrt_checkpoint_holds() then tells of them. A rank that joins sets its own part
 * of each blob like every other rank. */
RINGRT_API ringrt_status_t ringrt_checkpoint_get_blob(ringrt_checkpoint_t *checkpoint, const char *name, int rank,
                                                      const void **data, size_t *bytes);

/* Sets the CUDA stream (a cudaStream_t) for tensors in GPU memory; initially the default stream. A save copies
 * what they hold after all work enqueued on it before the call; a restore is ordered after that work as well. Data
 * passes through 32 MiB of pinned memory. */
RINGRT_API ringrt_status_t ringrt_checkpoint_set_stream(ringrt_checkpoint_t *checkpoint, void *stream);

/* ---- callbacks ---------------------------------------------------------------------------------- */

/* In all headers a callback's type has the prefix of the functions that take it and the name of their argument (a saver
 * is a `save` or a `load`). Its first argument is the `context` given with it, and what it returns is 0 on success. */

/* Brings the program's state in order before a save: waits for its own threads, gathers what is spread, sets blobs.
 * Returns 0 on success; otherwise `error` gets one line with the cause, of at most error_bytes including its 0. */
typedef int (*ringrt_checkpoint_before_save_fn)(void *context, uint64_t step, char *error, size_t error_bytes);

/* Sets a hook that every save calls on every rank, after the ranks have agreed on the step and before anything is read.
 * It may register tensors and set blobs, and may communicate with the other ranks' hooks. If it fails at one rank,
 * the save is called off at all with RINGRT_CHECKPOINT_FAILED and the line, and no file was touched. A rank without a
 * hook (before_save NULL, as at first) takes part. */
RINGRT_API ringrt_status_t ringrt_checkpoint_set_before_save(ringrt_checkpoint_t *checkpoint,
                                                             ringrt_checkpoint_before_save_fn before_save,
                                                             void *context);

/* Writes the program's own files into `directory`, or reads them from there. Returns 0 on success; otherwise `error`
 * gets one line with the cause, of at most error_bytes including its 0. */
typedef int (*ringrt_checkpoint_saver_fn)(void *context, const char *directory, uint64_t step, char *error,
                               size_t error_bytes);

/* Sets callbacks for a program with its own checkpoint format, in addition to registered tensors or without any. Call
 * it on all ranks before the first save or restore.
 *
 * Every save calls `save` on every rank, after the hook. The program chooses which ranks write what, but together they
 * must write at least one file. Files are plain files named [A-Za-z0-9._-], not "manifest" or "shard-...", and closed
 * when `save` returns. The library syncs and hashes them, and renames the directory to its final name only when
 * everything is on disk. If `save` fails at one rank, the save fails at all. A restore calls `load` on every rank, for
 * the newest checkpoint in which every file is intact; if `load` fails, it returns RINGRT_SYSTEM_ERROR with the
 * callback's line.
 *
 * All callbacks run in the thread that called the library. They may communicate with other ranks' callbacks by other
 * means, but may not save, restore or close this handle. */
RINGRT_API ringrt_status_t ringrt_checkpoint_set_saver(ringrt_checkpoint_t *checkpoint,
                                                       ringrt_checkpoint_saver_fn save,
                                                       ringrt_checkpoint_saver_fn load, void *context);

/* ---- save and restore --------------------------------------------------------------------------- */

/* Collective. Saves the registered tensors as of `step`. Returns when the checkpoint is on disk. After
 * RINGRT_CHECKPOINT_FAILED (no space, a file error) the previous checkpoint is still the newest. Returns
 * RINGRT_MISMATCH, and saves nothing, if the ranks registered different tensors, or are at different steps.
 * RINGRT_SUPERSEDED: a newer run uses the directory, and this one must end. */
RINGRT_API ringrt_status_t ringrt_checkpoint_save(ringrt_checkpoint_t *checkpoint, uint64_t step);

/* The same save in two calls, while the program continues. ringrt_checkpoint_save_begin() returns when the tensors may
 * change again: they were copied (within the GPU if as much stays free there, otherwise to host memory), and a thread
 * of each rank writes its part. A rank without memory for the copy writes before it returns, and all ranks wait for
 * it. The hook and the program's saver run within it. After any status but RINGRT_OK no save is under way.
 * ringrt_checkpoint_save_end() waits for all parts and commits; its outcome is that of the save. Until then,
 * ringrt_checkpoint_save(), _save_begin() and _restore() return RINGRT_INVALID_ARGUMENT, and ringrt_checkpoint_close()
 * gives the save up. Both are collective.
 *
 * A job handle learns of it by ringrt_job_saving(). */
RINGRT_API ringrt_status_t ringrt_checkpoint_save_begin(ringrt_checkpoint_t *checkpoint, uint64_t step);
RINGRT_API ringrt_status_t ringrt_checkpoint_save_end(ringrt_checkpoint_t *checkpoint);

/* Sets *written to 1 if this rank's part of the save is written, or failed, and _save_end() would wait for other ranks
 * only; otherwise to 0. Not collective. RINGRT_INVALID_ARGUMENT if no save is under way. */
RINGRT_API ringrt_status_t ringrt_checkpoint_save_written(ringrt_checkpoint_t *checkpoint, int *written);

/* Collective. Loads the newest intact checkpoint into the registered tensors and sets *step. It does not matter
 * how many ranks wrote it, nor which blocks they held. From this call or the first save on, earlier runs that are
 * still alive cannot save any more. Returns RINGRT_NOT_FOUND if there is no checkpoint. Damaged checkpoints are set
 * aside with a line on stderr; if all are damaged, RINGRT_CORRUPT names them. RINGRT_MISMATCH: a registered tensor is
 * not in the checkpoint, or has another type or shape there. The checkpoint may hold more tensors: they can be
 * registered later, and those that are not registered by the next save are not in it (a line on stderr). After any
 * failure but RINGRT_NOT_FOUND the tensors' contents are undefined. */
RINGRT_API ringrt_status_t ringrt_checkpoint_restore(ringrt_checkpoint_t *checkpoint, uint64_t *step);

#ifdef __cplusplus
}
#endif

/* clang-format on */
#endif
