/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ringrt_job: makes a program malleable that has a communicator, checkpoints and gradients of its
 * own. Slurm's plugin asks the job to save and to leave; the job is requeued with another number
 * of GPUs, and continues from its checkpoint.
 *
 *     ringrt_job_t *job;
 *     ringrt_job_open(&job, comm, checkpoint, NULL);    // over a ringrt_comm_t of all tasks
 *     uint64_t step = 0;
 *     ringrt_checkpoint_restore(checkpoint, &step);     // RINGRT_NOT_FOUND: a first start
 *     ringrt_action_t action = RINGRT_CONTINUE;
 *     while (step < steps && action != RINGRT_LEAVE) {
 *         // train one step
 *         ringrt_job_step(job, ++step, &action);
 *         if (action == RINGRT_SAVE)                    // periodic, or to leave for a resize
 *             ringrt_job_saved(job, ringrt_checkpoint_save(checkpoint, step), &action);
 *     }
 *     ringrt_job_close(job);                            // before the checkpoint handle
 *
 * Training stands during these saves. With config.background_saves it continues during the periodic
 * ones, which the job then asks for in two parts:
 *
 *         if (action == RINGRT_SAVE_BEGIN)
 *             ringrt_job_saving(job, ringrt_checkpoint_save_begin(checkpoint, step));
 *         if (action == RINGRT_SAVE_END)                // some steps later
 *             ringrt_job_saved(job, ringrt_checkpoint_save_end(checkpoint), &action);
 *         if (action == RINGRT_SAVE)                    // as above; the last of the three
 *
 * Without a ringrt_checkpoint_t (pass NULL) the program saves in its own way: see
 * ringrt_job_progress() and ringrt_job_resumed().
 *
 * Every function returns a status. On any status but RINGRT_OK the outputs are unchanged, and
 * ringrt_job_last_error() returns one line with the cause and the remedy. No function exits, aborts
 * or throws. Functions marked "collective" must be called by all ranks in the same order; they
 * return the same status on all ranks unless the ranks lose each other. After
 * RINGRT_INVALID_ARGUMENT the program can continue. After RINGRT_PEER_LOST, RINGRT_TIMEOUT,
 * RINGRT_MISMATCH and RINGRT_ABORTED, end it: the job starts again from its newest checkpoint. (Not
 * so if an extension may be lost: ringrt_job_resize().)
 *
 * The handle has its own connections: it may be used while operations of the communicator are in
 * progress, and may outlive it. One thread at a time may use it, except for ringrt_job_abort(),
 * ringrt_job_written() and ringrt_job_last_error(). It belongs to the process that created it:
 * after fork() the child's copy returns RINGRT_FORKED. A process has one handle, this one or a
 * ringrt_t (ringrt.h), per job.
 *
 * The process's handler of the scheduler's signal (SIGURG, or RINGRT_SIGNAL) is called as well, as
 * is its handler of SIGTERM. The library catches SIGTERM from the first step on, because Slurm
 * sends it when it preempts the job and when it has requeued it; the job's end by SIGTERM then
 * happens in ringrt_job_step().
 */
#ifndef RINGRT_JOB_H
#define RINGRT_JOB_H

#include "ringrt_checkpoint.h" /* checkpoints; statuses and types; the ranks */

/* Columns are aligned as tables. */
/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ringrt_job ringrt_job_t;

typedef enum ringrt_batch_rule {
    RINGRT_FIXED_GLOBAL_BATCH = 0, /* the default: results do not depend on the number of ranks */
    RINGRT_FIXED_BATCH_PER_GPU     /* the global batch grows with the number of ranks; scale the learning rate */
} ringrt_batch_rule_t;

/* Zero selects the environment variable in brackets, or else the default in parentheses. */
typedef struct ringrt_job_config {
    size_t struct_size;          /* sizeof(ringrt_job_config_t); allows fields to be added later */
    uint32_t global_batch;       /* samples per step over all ranks at the reference size; 0: not used, and the
                                    scheduler counts steps instead of samples */
    uint32_t reference_size;     /* number of ranks for which global_batch was tuned (1); for FIXED_BATCH_PER_GPU */
    uint32_t micro_batch_max;    /* samples that a GPU can hold at once; 0: no limit, no accumulation */
    ringrt_batch_rule_t batch_rule;
    uint64_t steps_total;        /* length of the training in steps; 0: unknown */
    uint64_t samples_total;      /* or in samples, over all epochs; one of the two at most */
    uint64_t seed;               /* of the sample order; a restore with another seed logs a warning */
    uint32_t save_interval_s;    /* between two periodic saves [RINGRT_SAVE_INTERVAL_S] (600) */
    uint32_t telemetry_s;        /* shortest time between two reports [RINGRT_TELEMETRY_S] (30) */
    uint32_t background_saves;   /* 1: the program knows RINGRT_SAVE_BEGIN and RINGRT_SAVE_END, and gets them for
                                    periodic saves, unless RINGRT_SAVE_INLINE is 1 in the environment (0) */
    uint32_t live_resize;        /* 1: the program knows RINGRT_RESIZE, and is resized in place if the scheduler can (0) */
} ringrt_job_config_t;

#ifdef __cplusplus
inline ringrt_job_config_t ringrt_job_config_init() {
    ringrt_job_config_t config = ringrt_job_config_t();
    config.struct_size = sizeof config;
    return config;
}
#define RINGRT_JOB_CONFIG_INIT ringrt_job_config_init()
#else
#define RINGRT_JOB_CONFIG_INIT {.struct_size = sizeof(ringrt_job_config_t)}
#endif

/* Collective over `comm`, whose ranks and timeouts it takes. `comm` must have a rank in every task of the job step,
 * because a resize ends them all; otherwise RINGRT_INVALID_ARGUMENT. RINGRT_MISMATCH if the ranks configured different
 * batches, or saves of different kinds. With config NULL everything comes from the environment. RINGRT_UNSUPPORTED with
 * RINGRT_LIVE_RESIZE or RINGRT_EXTENDS in the environment, but without config.live_resize.
 *
 * `checkpoint`, which may be NULL at all ranks, must be of the same ranks, not restored yet, and live until
 * ringrt_job_close(). From now on its saves also hold this job's progress, and its restores set it. */
RINGRT_API ringrt_status_t ringrt_job_open(ringrt_job_t **out, ringrt_comm_t *comm, ringrt_checkpoint_t *checkpoint,
                                           const ringrt_job_config_t *config);

/* Collective if all collective calls succeeded; after a failure, and after RINGRT_LEAVE, it waits for no rank. `job` may
 * be NULL. After RINGRT_LEAVE the communicator and the checkpoint handle need not be closed: Slurm ends the ranks one by
 * one, and to close them may return RINGRT_PEER_LOST. */
RINGRT_API ringrt_status_t ringrt_job_close(ringrt_job_t *job);

/* Makes every collective call of this rank, in progress or later, return RINGRT_ABORTED, and its peers' calls
 * RINGRT_PEER_LOST. May be called from any thread. ringrt_job_close() must still be called. */
RINGRT_API ringrt_status_t ringrt_job_abort(ringrt_job_t *job);

/* One line about the last failure of `job`; with NULL, about a failed ringrt_job_open() of this thread. Never NULL.
 * Valid until the next call by this thread. */
RINGRT_API const char *ringrt_job_last_error(const ringrt_job_t *job);

RINGRT_API int ringrt_job_restarts(const ringrt_job_t *job); /* how often this job was requeued; −1: NULL */

/* ---- the step boundary -------------------------------------------------------------------------- */

typedef enum ringrt_action {
    RINGRT_CONTINUE = 0,
    RINGRT_LEAVE,  /* saved and requeued, or an extension that has left: clean up and end, with any exit status */
    RINGRT_SAVE,   /* only with a job handle, as the rest: save as of the last step, then call ringrt_job_saved() */
    RINGRT_SAVE_BEGIN, /* begin a save of the last step, call ringrt_job_saving(), and go on */
    RINGRT_SAVE_END,   /* end the save that is under way, then call ringrt_job_saved() */
    RINGRT_RESIZE      /* only with config.live_resize: ranks join or leave: call ringrt_job_resize() */
} ringrt_action_t;

/* Collective; call it after every finished step. The ranks agree, by 8 bytes of each, whether the scheduler has asked
 * for a resize or a periodic save is due; if so, *action is RINGRT_SAVE, otherwise RINGRT_CONTINUE. RINGRT_MISMATCH if
 * the ranks are at different steps.
 *
 * With background_saves the action for a periodic save is RINGRT_SAVE_BEGIN, and no other becomes due while it is under
 * way. RINGRT_SAVE_END follows when every rank's part is written, or when the scheduler asks for a resize: that waits
 * for a save of the last step, so ringrt_job_saved() then returns RINGRT_SAVE. */
RINGRT_API ringrt_status_t ringrt_job_step(ringrt_job_t *job, uint64_t step, ringrt_action_t *action);

/* Collective; reports that a save of the last step is under way, or why not: `begun` is the outcome at this rank. If it
 * failed at all ranks, a line on stderr gives the cause, and training continues without it. If it failed at some only,
 * which cannot happen with a ringrt_checkpoint_t, RINGRT_SAVE_END follows at all ranks. The program then ends the save
 * as if those ranks' writing had failed, and commits nothing; ringrt_job_saved() counts it as failed in any case.
 * Statuses after which no rank can go on are as for ringrt_job_saved().
 *
 * Call it after RINGRT_SAVE_BEGIN, before the next ringrt_job_step(), and also after a save in two parts of the
 * program's own choice. The next ringrt_job_saved() is about this save, also if the program does not wait for
 * RINGRT_SAVE_END. At the end of the training, end what is under way: ringrt_job_close() does not. */
RINGRT_API ringrt_status_t ringrt_job_saving(ringrt_job_t *job, ringrt_status_t begun);

/* Collective; reports that the checkpoint of the last step, or of that of ringrt_job_saving(), is on disk at all ranks,
 * or why not: `saved` is the outcome at this rank, RINGRT_OK if it succeeded. It waits for late ranks ten times as long
 * as other calls, at most 30 minutes. If the scheduler has asked for a resize and all ranks have saved, rank 0 has the
 * job requeued, and all ranks wait until Slurm stops the job: *action is RINGRT_LEAVE. Otherwise it is RINGRT_CONTINUE.
 * If any part of this fails, the resize is called off, and a line on stderr gives the cause. After RINGRT_SAVE_END
 * *action may be RINGRT_SAVE: a resize waits for a save of the last step. After RINGRT_SUPERSEDED, RINGRT_PEER_LOST,
 * RINGRT_TIMEOUT or RINGRT_ABORTED in `saved` no rank can go on, and the call returns that status at all.
 *
 * Call it after RINGRT_SAVE and RINGRT_SAVE_END, before the next ringrt_job_step(), and also after saves of the
 * program's own choice, so that the scheduler knows how much a resize would lose. */
RINGRT_API ringrt_status_t ringrt_job_saved(ringrt_job_t *job, ringrt_status_t saved, ringrt_action_t *action);

/* ---- resized in place --------------------------------------------------------------------------- */

/* With config.live_resize the ranks of other jobs, extensions, join the job after a step, and leave it after another one,
 * while it runs (doc/live.md). The program is the same in both jobs:
 *
 *     ringrt_action_t action = RINGRT_RESIZE;           // an extension begins by joining
 *     if (!ringrt_job_is_extension(job)) action = restore(&step);   // RINGRT_CONTINUE
 *     while (action == RINGRT_RESIZE || (step < steps && action != RINGRT_LEAVE)) {
 *         if (action == RINGRT_RESIZE) {
 *             ringrt_comm_abort(comm);                  // its ranks are others now
 *             ringrt_comm_destroy(comm);
 *             if (ringrt_job_resize(job, &comm, &step, &root) != RINGRT_OK) break;
 *             if (!comm) break;                         // the others have ended the training
 *             if (root < 0 || broadcast(state, root, comm) != RINGRT_PEER_LOST) action = RINGRT_CONTINUE;
 *             continue;
 *         }
 *         if (train(comm) == RINGRT_PEER_LOST) { action = RINGRT_RESIZE; continue; }
 *         if (ringrt_job_step(job, ++step, &action) == RINGRT_PEER_LOST) action = RINGRT_RESIZE;
 *     }
 *
 * RINGRT_RESIZE: ranks have joined, or other ranks leave. Those that leave get RINGRT_LEAVE, and end. A rank of an
 * extension may also be lost: a call of any of the three handles then returns RINGRT_PEER_LOST or RINGRT_TIMEOUT, and
 * the program does the same as after RINGRT_RESIZE. It must not have changed its state in the step in which the call
 * failed: update it after the step's last collective. A rank without such changes may be one step behind another one,
 * which passed that collective. So call ringrt_job_resize() after a loss in the last step, too. */

/* Collective over the ranks that stay and those that join, after RINGRT_RESIZE, after a loss, and first of all in an
 * extension. Before it, ringrt_comm_abort() and ringrt_comm_destroy() the communicator, and any that was split from it:
 * that ends the calls of other ranks.
 *
 * *comm is a new communicator of all present ranks, in which the base's come first and ranks 0 to p of a smaller job
 * keep their numbers. *step is the last finished step, from which all ranks continue. *root is a rank that has the
 * program's state of that step, which it must broadcast over *comm; -1: every rank has it. If the broadcast fails, call
 * ringrt_job_resize() again. Tensors that are registered with the job's checkpoint handle have been sent already, and
 * the blobs of *root, as it has set them last: ringrt_checkpoint_get_blob() reads them at all ranks. So a program that
 * keeps its other state in blobs sets them before this call, and broadcasts nothing.
 *
 * The checkpoint handle, too, has the present ranks; a save that was under way in either handle is given up, and need
 * not be reported. *comm is NULL if the other ranks have passed the last step and end: end as well.
 *
 * RINGRT_PEER_LOST: a rank of the base is lost, or an extension's base has ended; the program ends, and the job is
 * started again from its newest checkpoint. RINGRT_ABORTED in a rank that was asked to leave before it joined, or whose
 * node leaves the job: end, with exit status 0. RINGRT_INVALID_ARGUMENT in an extension: it has other tensors, another
 * batch or seed, or other kinds of saves than its base.
 *
 * With config.live_resize each rank has the whole state, so that no rank's loss costs a step. Blocks of tensors are
 * refused: ringrt_checkpoint_register_block(), or ringrt_job_open() if there are some, returns RINGRT_UNSUPPORTED (a
 * ringrt_t moves rows: ringrt_register_placed_rows() in ringrt_live.h). So are tensors after the first
 * ringrt_job_step() or ringrt_job_resize(). The next ringrt_job_batch() is the present ranks'. */
RINGRT_API ringrt_status_t ringrt_job_resize(ringrt_job_t *job, ringrt_comm_t **comm, uint64_t *step, int *root);

/* 1 if this rank's job extends another one; its program calls ringrt_job_resize() instead of a restore. -1: NULL */
RINGRT_API int ringrt_job_is_extension(const ringrt_job_t *job);

/* ---- for checkpoints other than a ringrt_checkpoint_t -------------------------------------------- */

/* What the job has learned, as bytes for the program's checkpoint: the samples seen, the speed at each number of GPUs,
 * and the losses, as of the last step. Save those of rank 0, which alone knows the losses. *data is library memory,
 * valid until the next call. Not collective. */
RINGRT_API ringrt_status_t ringrt_job_progress(ringrt_job_t *job, const void **data, size_t *bytes);

/* Tells that this rank's part of the save of ringrt_job_saving() is written, or failed: RINGRT_SAVE_END then waits for
 * other ranks only. Any thread may call it between RINGRT_SAVE_BEGIN and ringrt_job_saved(). RINGRT_INVALID_ARGUMENT
 * over a ringrt_checkpoint_t, which the job asks itself. Not collective. */
RINGRT_API ringrt_status_t ringrt_job_written(ringrt_job_t *job);

/* Tells that the program has continued from its own checkpoint, made after `step` steps. `data` are the bytes of
 * ringrt_job_progress() in it; with bytes 0, every step is taken to have had the present number of samples. Call it
 * with the same arguments on all ranks, before the first step. Returns RINGRT_CORRUPT if the bytes are damaged, and
 * RINGRT_MISMATCH if they belong to another step. Not collective. */
RINGRT_API ringrt_status_t ringrt_job_resumed(ringrt_job_t *job, uint64_t step, const void *data, size_t bytes);

/* ---- the share of a batch ------------------------------------------------------------------------ */

typedef struct ringrt_share { /* not ringrt_batch: that name is the function */
    uint64_t global;       /* samples of this step over all ranks */
    uint64_t first;        /* this rank's samples are [first, first + count) of the step's batch */
    uint64_t count;
    uint64_t samples_seen; /* over all ranks before this step, kept across restarts: the position in the endless
                              sequence of epochs. Sample i of this step is at position (samples_seen + first + i) %
                              samples of epoch (… / samples) */
    double lr_scale;       /* factor on the learning rate tuned at reference_size (linear scaling) */
    uint32_t micro_steps;  /* number of accumulation passes, of at most micro_batch_max samples each */
    uint32_t reserved[5];  /* 0 */
} ringrt_batch_t;

/* Returns this rank's share of the next step. The shares of all ranks tile the batch exactly. Not collective.
 * RINGRT_INVALID_ARGUMENT without a configured global_batch. */
RINGRT_API ringrt_status_t ringrt_job_batch(const ringrt_job_t *job, ringrt_batch_t *out);

/* Sets global_batch from the current step on, for a batch that changes during the training. Call it between two
 * steps with the same value on all ranks, and again after a restart: checkpoints do not store it. The configured
 * global_batch must stay the same in all runs. */
RINGRT_API ringrt_status_t ringrt_job_set_batch(ringrt_job_t *job, uint32_t global_batch);

/* Returns the sample at `position` (0 .. samples−1) of the shuffled epoch: a permutation of 0 .. samples−1 that
 * needs no memory, does not depend on the number of ranks, and is the same in all versions of the library. May be
 * called from any thread. */
RINGRT_API uint64_t ringrt_sample(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t position);

/* ---- what the scheduler learns ------------------------------------------------------------------- */

/* None of these calls is collective. Reports are sent by a thread of rank 0: the time of a step (from
 * ringrt_job_step()'s return to the next call), the speed at each size, the newest checkpoint, the samples and the
 * remaining work. */

/* Sets the number of remaining steps, at the current size and batch, if it is not steps_total − step (early
 * stopping, a new schedule). */
RINGRT_API ringrt_status_t ringrt_job_set_steps_left(ringrt_job_t *job, uint64_t steps_left);

/* Like ringrt_job_set_steps_left(), in samples over all ranks; needs a configured batch. The later of the two calls
 * counts. */
RINGRT_API ringrt_status_t ringrt_job_set_samples_left(ringrt_job_t *job, uint64_t samples_left);

typedef struct ringrt_speed {
    int gpus;
    double step_ms; /* of one step at that number of GPUs */
} ringrt_speed_t;

/* Sets the step times that the program predicts, from a model of its own, for at most 8 numbers of GPUs, of which the
 * present one should be one: the scheduler uses their ratio to it, for sizes at which the job has not run. They replace
 * those set before; with count 0 there are none. Only rank 0's are used. (A ringrt_t predicts them from its plan of the
 * gradients.) */
RINGRT_API ringrt_status_t ringrt_job_set_planned_speeds(ringrt_job_t *job, const ringrt_speed_t *speeds,
                                                         size_t count);

/* Sets the training loss of the current step; call it before that step's ringrt_job_step(). Only rank 0's loss is
 * used, and steps may omit it. If the number of steps is unknown, the library fits a curve to the losses
 * (Optimus, EuroSys 2018: 1 / (b0 k + b1) + b2) and reports the estimated remaining steps to the scheduler. The
 * estimate ends when the loss falls to `goal`; with goal 0, when the loss would fall by less than 1 % over the next
 * tenth of the steps made. If the number of steps is known and goal is not 0, the earlier end counts. Losses that are
 * not finite and above 0 are ignored. */
RINGRT_API ringrt_status_t ringrt_job_set_loss(ringrt_job_t *job, double loss, double goal);

#ifdef __cplusplus
}
#endif

/* clang-format on */
#endif
