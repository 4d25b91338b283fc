# SPDX-License-Identifier: BSD-3-Clause
"""A ringrt_t: the C API with Python's types and exceptions. Calls that are collective in ringrt.h are collective
here."""
from __future__ import annotations

import contextlib
import ctypes
import os
import traceback
from typing import Callable, Optional

from .errors import NOT_FOUND, OK, error_of
from .library import AllGather, Config, Pack, Piece, Saver, Share, Unpack, library

# Takes this rank's bytes, returns those of all ranks in rank order.
Gather = Callable[[bytes], "list[bytes]"]
# Takes the checkpoint's directory and the step.
FilesFunction = Callable[[str, int], None]
# Returns the state's pieces as (address, bytes); takes one address and its bytes.
PackFunction = Callable[[], "list[tuple[int, int]]"]
UnpackFunction = Callable[[int, int], None]


def ranks_from_environment() -> dict[str, int]:
    """Rank and size from RANK and WORLD_SIZE of torchrun or an mpirun-like launcher, if set. Under torchrun the
    Slurm task is the agent, which Slurm's own variables describe."""
    try:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return {}
    if not 0 <= rank < size:
        return {}
    return {"rank": rank, "size": size}


@contextlib.contextmanager
def without(variable: str):
    """Hides `variable`, for programs that do not meet the requirements of live_resize (ringrt(3)): they are
    requeued."""
    value = os.environ.pop(variable, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[variable] = value


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class Handle:
    """What :class:`ringrt.Run` and ``ringrt.torch`` stand on. The constructor opens it; finalize() closes it.

    Args:
        gather: An all-gather of the program's own, through which the ranks meet.
        **fields: Fields of ringrt_config_t. Fields not given come from the environment.
    """

    def __init__(self, gather: Optional[Gather] = None, **fields: object) -> None:
        self._library = library()
        self._handle = ctypes.c_void_p()
        self._kept: list[object] = []  # callbacks live as long as the handle
        config = Config(struct_size=ctypes.sizeof(Config))
        for name, value in {**ranks_from_environment(), **fields}.items():
            if not hasattr(config, name):
                raise TypeError(f"ringrt_config_t has no field {name}")
            if value is not None:
                setattr(config, name, os.fsencode(value) if isinstance(value, (str, os.PathLike)) else value)
        if gather:
            config.allgather = self._keep(AllGather(_gather_function(gather)))
        with contextlib.nullcontext() if config.live_resize else without("RINGRT_LIVE_RESIZE"):
            status = self._library.ringrt_init(ctypes.byref(self._handle), ctypes.byref(config))
        if status != OK:
            raise error_of(status, self._line(None))
        self.refresh_ranks()
        self.local_rank: int = self._library.ringrt_local_rank(self._handle)
        self.restarts: int = self._library.ringrt_restarts(self._handle)

    def refresh_ranks(self) -> None:
        """Reads rank and size again: with live_resize, step() and restore() may change them."""
        self.rank: int = self._library.ringrt_rank(self._handle)
        self.size: int = self._library.ringrt_size(self._handle)

    def _keep(self, callback):
        self._kept.append(callback)
        return callback

    def _line(self, handle) -> str:
        return os.fsdecode(self._library.ringrt_last_error(handle))

    def _check(self, status: int) -> None:
        if status != OK:
            raise error_of(status, self._line(self._handle))

    def _call(self, name: str, *arguments: object) -> None:
        self._check(getattr(self._library, name)(self._handle, *arguments))

    def _run(self, name: str, *arguments: object) -> None:
        """A collective takes the handle last."""
        self._check(getattr(self._library, name)(*arguments, self._handle))

    # ---- checkpoints and steps ---------------------------------------------------------------

    def set_saver(self, save: FilesFunction, load: FilesFunction) -> None:
        self._call("ringrt_set_saver", self._keep(Saver(_saver_function(save))),
                   self._keep(Saver(_saver_function(load))), None)

    def set_live_state(self, pack: PackFunction, unpack: UnpackFunction) -> None:
        self._call("ringrt_set_live_state", self._keep(Pack(self._pack_function(pack))),
                   self._keep(Unpack(_unpack_function(unpack))), None)

    def _pack_function(self, pack: PackFunction):
        def call(_context, out, count, error, error_bytes):
            try:
                pieces = pack()
                self._pieces = (Piece * len(pieces))(*pieces)
                out[0] = ctypes.cast(self._pieces, ctypes.POINTER(Piece))
                count[0] = len(pieces)
                return 0
            except BaseException as failure:
                return _told(failure, error, error_bytes)

        return call

    def restore(self) -> Optional[int]:
        """Loads a checkpoint and returns its step; None: there is none."""
        step = ctypes.c_uint64()
        status = self._library.ringrt_restore(self._handle, ctypes.byref(step))
        if status == NOT_FOUND:
            return None
        if status != OK:
            raise error_of(status, self._line(self._handle))
        return step.value

    def save(self, step: int) -> None:
        self._call("ringrt_save", step)

    def step(self, step: int) -> bool:
        """The boundary after `step` finished steps. True: saved and requeued; clean up and end."""
        action = ctypes.c_int()
        self._call("ringrt_step", step, ctypes.byref(action))
        return action.value != 0

    def set_steps_left(self, steps: int) -> None:
        self._call("ringrt_set_steps_left", steps)

    def set_loss(self, loss: float, goal: float = 0.0) -> None:
        self._call("ringrt_set_loss", loss, goal)

    def batch(self) -> Share:
        share = Share()
        self._call("ringrt_batch", ctypes.byref(share))
        return share

    # ---- collectives, on addresses -----------------------------------------------------------

    def allreduce(self, send: int, recv: int, count: int, dtype: int, op: int) -> None:
        self._run("ringrt_allreduce", send, recv, count, dtype, op)

    def reduce_scatter(self, send: int, recv: int, count: int, dtype: int, op: int) -> None:
        self._run("ringrt_reduce_scatter", send, recv, count, dtype, op)

    def allgather(self, send: int, recv: int, count: int, dtype: int) -> None:
        self._run("ringrt_allgather", send, recv, count, dtype)

    def broadcast(self, buffer: int, count: int, dtype: int, root: int) -> None:
        self._run("ringrt_broadcast", buffer, buffer, count, dtype, root)

    def barrier(self) -> None:
        self._call("ringrt_barrier")

    def alloc(self, count: int) -> int:
        out = ctypes.c_void_p()
        self._call("ringrt_mem_alloc", count, ctypes.byref(out))
        return out.value or 0

    def free(self, memory: int) -> None:
        self._call("ringrt_mem_free", memory)

    # ---- the end -----------------------------------------------------------------------------

    def abort(self) -> None:
        """Makes the peers' calls fail at once. May be called from any thread."""
        self._library.ringrt_abort(self._handle)

    def finalize(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        status = self._library.ringrt_finalize(handle)
        if status != OK:
            raise error_of(status, self._line(None))


class HasHandle:
    """A run's access to its handle."""

    _handle: Optional[Handle] = None

    @property
    def handle(self) -> Handle:
        if self._handle is None:
            raise RuntimeError("outside of the run's `with` block")
        return self._handle

    @property
    def rank(self) -> int:
        return self.handle.rank

    @property
    def size(self) -> int:
        return self.handle.size

    @property
    def local_rank(self) -> int:
        return self.handle.local_rank

    @property
    def restarts(self) -> int:
        return self.handle.restarts

    def loss(self, loss: float, goal: float = 0.0) -> None:
        """Reports the loss of the current step, from which the scheduler estimates the remaining training."""
        self.handle.set_loss(loss, goal)


def _gather_function(gather: Gather):
    def call(_context, send, recv, count):
        try:
            every = b"".join(gather(ctypes.string_at(send, count)))
            ctypes.memmove(recv, every, len(every))
            return 0
        except BaseException:  # no exception may pass through the library's frames
            traceback.print_exc()
            return 1

    return call


def _saver_function(function: FilesFunction):
    def call(_context, directory, step, error, error_bytes):
        try:
            function(os.fsdecode(directory), step)
            return 0
        except BaseException as failure:
            return _told(failure, error, error_bytes)

    return call


def _unpack_function(unpack: UnpackFunction):
    def call(_context, address, count, error, error_bytes):
        try:
            unpack(address or 0, count)
            return 0
        except BaseException as failure:
            return _told(failure, error, error_bytes)

    return call


def _told(failure: BaseException, error: int, error_bytes: int) -> int:
    """Passes only one line through the library's frames, and no exception."""
    line = _one_line(failure).encode("utf-8", "replace")[: error_bytes - 1] + b"\0"
    ctypes.memmove(error, line, len(line))
    return 1
