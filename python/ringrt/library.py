# SPDX-License-Identifier: BSD-3-Clause
"""Finds libringrt.so and declares the functions used from ringrt.h and ringrt_comm.h."""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64,
                    c_void_p)

from .errors import LibraryNotFound

OLDEST = 1  # 1000 · major + minor

AllGather = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t)
Saver = CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64, c_void_p, c_size_t)


class Piece(ctypes.Structure):
    """ringrt_piece_t"""

    _fields_ = [("data", c_void_p), ("bytes", c_size_t)]


Pack = CFUNCTYPE(c_int, c_void_p, POINTER(POINTER(Piece)), POINTER(c_size_t), c_void_p, c_size_t)
Unpack = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t)


class Config(ctypes.Structure):
    """ringrt_config_t"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rank", c_int),
        ("size", c_int),
        ("local_rank", c_int),
        ("local_size", c_int),
        ("rendezvous", c_char_p),
        ("allgather", AllGather),
        ("allgather_context", c_void_p),
        ("transport", c_char_p),
        ("messenger", c_void_p),
        ("timeout_ms", c_uint32),
        ("start_timeout_ms", c_uint32),
        ("global_batch", c_uint32),
        ("reference_size", c_uint32),
        ("micro_batch_max", c_uint32),
        ("batch_rule", c_int),
        ("steps_total", c_uint64),
        ("samples_total", c_uint64),
        ("seed", c_uint64),
        ("checkpoint_dir", c_char_p),
        ("keep_checkpoints", c_uint32),
        ("save_interval_s", c_uint32),
        ("save_inline", c_uint32),
        ("telemetry_s", c_uint32),
        ("live_resize", c_uint32),
        ("live_copy_steps", c_uint32),
    ]


StorePut = CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p)
StoreGet = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t, c_uint32)


class Store(ctypes.Structure):
    """ringrt_store_t"""

    _fields_ = [("context", c_void_p), ("put", StorePut), ("get", StoreGet)]


class CommConfig(ctypes.Structure):
    """ringrt_comm_config_t"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rank", c_int),
        ("size", c_int),
        ("store", POINTER(Store)),
        ("rendezvous", c_char_p),
        ("name", c_char_p),
        ("timeout_ms", c_uint32),
        ("start_timeout_ms", c_uint32),
    ]


class Share(ctypes.Structure):
    """ringrt_batch_t: this rank's share of a step's batch."""

    _fields_ = [
        ("total", c_uint64),  # "global" is a Python keyword
        ("first", c_uint64),
        ("count", c_uint64),
        ("samples_seen", c_uint64),
        ("lr_scale", c_double),
        ("micro_steps", c_uint32),
        ("reserved", c_uint32 * 5),
    ]


class JobConfig(ctypes.Structure):
    """ringrt_job_config_t"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("global_batch", c_uint32),
        ("reference_size", c_uint32),
        ("micro_batch_max", c_uint32),
        ("batch_rule", c_int),
        ("steps_total", c_uint64),
        ("samples_total", c_uint64),
        ("seed", c_uint64),
        ("save_interval_s", c_uint32),
        ("telemetry_s", c_uint32),
        ("background_saves", c_uint32),
        ("live_resize", c_uint32),
    ]


class Speed(ctypes.Structure):
    """ringrt_speed_t"""

    _fields_ = [("gpus", c_int), ("step_ms", c_double)]


# name: (result, arguments…); a status is a c_int.
FUNCTIONS = {
    "ringrt_version": (c_int,),
    "ringrt_last_error": (c_char_p, c_void_p),
    "ringrt_init": (c_int, POINTER(c_void_p), POINTER(Config)),
    "ringrt_finalize": (c_int, c_void_p),
    "ringrt_abort": (c_int, c_void_p),
    "ringrt_rank": (c_int, c_void_p),
    "ringrt_size": (c_int, c_void_p),
    "ringrt_local_rank": (c_int, c_void_p),
    "ringrt_restarts": (c_int, c_void_p),
    "ringrt_allreduce": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "ringrt_reduce_scatter": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "ringrt_allgather": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p),
    "ringrt_broadcast": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "ringrt_barrier": (c_int, c_void_p),
    "ringrt_mem_alloc": (c_int, c_void_p, c_size_t, POINTER(c_void_p)),
    "ringrt_mem_free": (c_int, c_void_p, c_void_p),
    "ringrt_batch": (c_int, c_void_p, POINTER(Share)),
    "ringrt_sample": (c_uint64, c_uint64, c_uint64, c_uint64, c_uint64),
    "ringrt_set_saver": (c_int, c_void_p, Saver, Saver, c_void_p),
    "ringrt_set_live_state": (c_int, c_void_p, Pack, Unpack, c_void_p),
    "ringrt_restore": (c_int, c_void_p, POINTER(c_uint64)),
    "ringrt_save": (c_int, c_void_p, c_uint64),
    "ringrt_step": (c_int, c_void_p, c_uint64, POINTER(c_int)),
    "ringrt_set_steps_left": (c_int, c_void_p, c_uint64),
    "ringrt_set_loss": (c_int, c_void_p, c_double, c_double),
    "ringrt_comm_create": (c_int, POINTER(c_void_p), POINTER(CommConfig)),
    "ringrt_comm_destroy": (c_int, c_void_p),
    "ringrt_comm_abort": (c_int, c_void_p),
    "ringrt_comm_last_error": (c_char_p, c_void_p),
    "ringrt_comm_rank": (c_int, c_void_p),
    "ringrt_comm_size": (c_int, c_void_p),
    "ringrt_comm_allreduce": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_reduce": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_reduce_scatter": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_allgather": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_void_p),
    "ringrt_comm_broadcast": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_alltoall": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_void_p),
    "ringrt_comm_gather": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_scatter": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_send": (c_int, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_recv": (c_int, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_void_p),
    "ringrt_comm_group_start": (c_int, c_void_p),
    "ringrt_comm_group_end": (c_int, c_void_p, c_void_p),
    "ringrt_comm_barrier": (c_int, c_void_p, c_void_p),
    "ringrt_comm_mem_alloc": (c_int, c_void_p, c_size_t, POINTER(c_void_p)),
    "ringrt_comm_mem_free": (c_int, c_void_p, c_void_p),
    "ringrt_job_open": (c_int, POINTER(c_void_p), c_void_p, c_void_p, POINTER(JobConfig)),
    "ringrt_job_close": (c_int, c_void_p),
    "ringrt_job_abort": (c_int, c_void_p),
    "ringrt_job_last_error": (c_char_p, c_void_p),
    "ringrt_job_restarts": (c_int, c_void_p),
    "ringrt_job_is_extension": (c_int, c_void_p),
    "ringrt_job_step": (c_int, c_void_p, c_uint64, POINTER(c_int)),
    "ringrt_job_saving": (c_int, c_void_p, c_int),
    "ringrt_job_saved": (c_int, c_void_p, c_int, POINTER(c_int)),
    "ringrt_job_written": (c_int, c_void_p),
    "ringrt_job_progress": (c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t)),
    "ringrt_job_resumed": (c_int, c_void_p, c_uint64, c_char_p, c_size_t),
    "ringrt_job_resize": (c_int, c_void_p, POINTER(c_void_p), POINTER(c_uint64), POINTER(c_int)),
    "ringrt_job_batch": (c_int, c_void_p, POINTER(Share)),
    "ringrt_job_set_batch": (c_int, c_void_p, c_uint32),
    "ringrt_job_set_steps_left": (c_int, c_void_p, c_uint64),
    "ringrt_job_set_samples_left": (c_int, c_void_p, c_uint64),
    "ringrt_job_set_planned_speeds": (c_int, c_void_p, POINTER(Speed), c_size_t),
    "ringrt_job_set_loss": (c_int, c_void_p, c_double, c_double),
}

_library: ctypes.CDLL | None = None


def candidates() -> list[str]:
    """File names to try, in order. RINGRT_LIBRARY, if set, is the only one."""
    named = os.environ.get("RINGRT_LIBRARY")
    if named:
        return [named]
    bundled = os.path.join(os.path.dirname(__file__), "lib", "libringrt.so")
    return ([bundled] if os.path.exists(bundled) else []) + ["libringrt.so.1", "libringrt.so"]


def _open() -> ctypes.CDLL:
    why = []
    for name in candidates():
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            why.append(str(error))
    raise LibraryNotFound(f"libringrt.so is not found ({why[0]}): set RINGRT_LIBRARY to its path, "
                          "install it in a directory that ld.so searches, or install this package with "
                          "RINGRT_BUNDLE=/path/to/libringrt.so")


def library() -> ctypes.CDLL:
    """The library, loaded at the first call."""
    global _library
    if _library is None:
        opened = _open()
        for name, (result, *arguments) in FUNCTIONS.items():
            try:
                function = getattr(opened, name)
            except AttributeError:
                raise LibraryNotFound(
                    f"{opened._name} has no {name}(): it is older than this package") from None
            function.restype, function.argtypes = result, arguments
        if opened.ringrt_version() < OLDEST:
            raise LibraryNotFound(f"{opened._name} is older than this package")
        _library = opened
    return _library
