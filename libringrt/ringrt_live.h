/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Callbacks for live_resize (ringrt(3), "Resizing in place"): state that the program packs, and
 * rows that move between the ranks. ringrt.h includes this header.
 */
#ifndef RINGRT_LIVE_H
#define RINGRT_LIVE_H

#include "ringrt.h"

/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif

/* Returns this rank's whole state as bytes: *pieces points to *count pieces, in order. They must stay valid and
 * unchanged until the next pack, unpack or ringrt_finalize(). Returns 0 on success; otherwise a line in
 * `error`. */
typedef int (*ringrt_pack_fn)(void *context, const ringrt_piece_t **pieces, size_t *count, char *error,
                              size_t error_bytes);
/* Replaces this rank's state with bytes that another rank packed, or rank 0 in an earlier step. `data` belongs to the
 * library and is gone after return. Returns 0 on success; otherwise a line in `error`. */
typedef int (*ringrt_unpack_fn)(void *context, const void *data, size_t bytes, char *error, size_t error_bytes);

/* For live_resize, if the program's state is not in registered buffers; its size may change between calls. Call
 * it on all ranks before the first restore or step, and before ringrt_set_saver(). Without live_resize it has
 * no effect.
 *
 * `pack` is called at rank 0 when ranks join and for a copy (live_copy_steps), and after a loss at the rank that
 * is furthest ahead; `unpack` is called at the ranks that receive the state, and at all ranks that go back to a
 * copy. Only ringrt_step() and ringrt_restore() call them, in the caller's thread, and they may not call any
 * function of this handle. If `unpack` fails at a joining rank, the join is called off and ringrt_restore()
 * reports the cause. */
RINGRT_API ringrt_status_t ringrt_set_live_state(ringrt_t *rt, ringrt_pack_fn pack, ringrt_unpack_fn unpack,
                                                 void *context);

/* ---- rows that move -------------------------------------------------------------------------- */

typedef struct ringrt_held_rows { /* not ringrt_rows: that name is the function */
    uint64_t first, count; /* rows [first, first + count) of the first extent */
    void *data;            /* their memory */
} ringrt_rows_t;

/* Sets *out to the rows that `rank` of `size` ranks holds, and to memory for them that is not in use yet. Returns 0
 * on success. The rows of all ranks must tile the buffer. */
typedef int (*ringrt_place_fn)(void *context, int rank, int size, ringrt_rows_t *out);
/* The library no longer uses `data`, which ringrt_place_fn returned. */
typedef void (*ringrt_release_fn)(void *context, void *data);

/* Like ringrt_register_rows(), for rows that move with live_resize: `place` sets this rank's rows. It is called here,
 * or in an extension when its ranks join; then in ringrt_step() or ringrt_restore() whenever the ranks change. Each
 * rank sends the rows that another one lacks from its old memory into the other's new memory, then `release` gets the
 * old memory; if the change is called off, the new one. So a rank needs memory for its old and its new rows at
 * once. ringrt_finalize() releases the last. The callbacks may not call any function of this handle.
 *
 * Lost ranks take their rows with them. ringrt_restore() then returns to the newest checkpoint without a restart;
 * steps since then are done again. So the base saves after its first step, and extensions join after that.
 * With live_copy_steps N, the base's ranks copy the state into their host memory every N steps while extensions are
 * there, and ringrt_restore() returns to that copy. They need memory for twice the rows and whole buffers of all
 * ranks, divided among them, and rank 0 for twice what it packs (ringrt_set_live_state()). */
RINGRT_API ringrt_status_t ringrt_register_placed_rows(ringrt_t *rt, const char *name, ringrt_dtype_t dtype,
                                                       int ndim, const uint64_t *shape, ringrt_place_fn place,
                                                       ringrt_release_fn release, void *context);
/* Returns the rows that this rank holds now; ringrt_step() and ringrt_restore() may change them. */
RINGRT_API ringrt_status_t ringrt_rows(const ringrt_t *rt, const char *name, ringrt_rows_t *out);

#ifdef __cplusplus
}
#endif
/* clang-format on */
#endif
