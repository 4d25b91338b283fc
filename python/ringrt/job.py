# SPDX-License-Identifier: BSD-3-Clause
"""A ringrt_job_t: the step boundary of a program with collectives and checkpoints of its own. Calls that are
collective in ringrt_job.h are collective here."""
from __future__ import annotations

import contextlib
import ctypes
import enum
import os
from types import TracebackType
from typing import Mapping, NamedTuple, Optional, Type

from .communicator import Communicator
from .errors import OK, CheckpointFailed, Error, error_of
from .handle import without
from .library import JobConfig, Share, Speed, library


class Action(enum.IntEnum):
    """What the program does after a step (ringrt_action_t)."""

    CONTINUE = 0
    LEAVE = 1  # saved and requeued, or an extension that has left: clean up and end
    SAVE = 2  # save, then call saved()
    SAVE_BEGIN = 3  # only with background_saves: begin a save, call saving(), and go on
    SAVE_END = 4  # end the save that is under way, then call saved()
    RESIZE = 5  # only with live_resize: ranks join or leave: call resize()


class Resized(NamedTuple):
    """What resize() returns."""

    comm: Optional[Communicator]  # of all present ranks; None: the others have ended the training, end too
    step: int  # the last finished step, from which all continue
    root: int  # has the program's state of it, and must broadcast that; -1: every rank has it


class Job:
    """The step boundary of a malleable training that has collectives and checkpoints of its own.

    .. code:: python

        with ringrt.Communicator() as comm, ringrt.Job(comm, global_batch=256) as job:
            while step < steps and action != ringrt.Action.LEAVE:
                ...                         # one training step
                step += 1
                action = job.step(step)
                if action == ringrt.Action.SAVE:
                    action = job.saved(save(step, job.progress()))

    The end of the ``with`` block is :meth:`close`, after an exception :meth:`abort` and :meth:`close`. This class can
    be resized in place (:meth:`resize`); :class:`ringrt.Run` cannot.

    Args:
        comm: A communicator of all tasks of the job step. It stays the program's; only if the ranks end one by one,
            after Action.LEAVE or with live_resize, close() discards it.
        **fields: Fields of ringrt_job_config_t: global_batch, steps_total, save_interval_s, … With live_resize=1 the
            program knows Action.RESIZE.
    """

    def __init__(self, comm: Communicator, **fields: int) -> None:
        self._library = library()
        self._job = ctypes.c_void_p()
        self._comm = comm
        self._ends_alone = bool(fields.get("live_resize"))  # the ranks of an extension may end before or after
        config = JobConfig(struct_size=ctypes.sizeof(JobConfig))
        for name, value in fields.items():
            if not hasattr(config, name):
                raise TypeError(f"ringrt_job_config_t has no field {name}")
            setattr(config, name, value)
        with contextlib.nullcontext() if config.live_resize else without("RINGRT_LIVE_RESIZE"):
            status = self._library.ringrt_job_open(ctypes.byref(self._job), comm.pointer, None, ctypes.byref(config))
        if status != OK:
            raise error_of(status, self._line(None))
        self.restarts: int = self._library.ringrt_job_restarts(self._job)
        self.is_extension: bool = self._library.ringrt_job_is_extension(self._job) == 1

    def _line(self, job: object) -> str:
        return os.fsdecode(self._library.ringrt_job_last_error(job))

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(self._job, *arguments)
        if status != OK:
            raise error_of(status, self._line(self._job))

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], _value: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        if kind is not None and self._job:
            self.abort()  # the peers fail now, not at their timeout
        self.close()

    def _acted(self, action: ctypes.c_int) -> Action:
        self._ends_alone |= action.value == Action.LEAVE
        return Action(action.value)

    # ---- the step boundary -------------------------------------------------------------------

    def step(self, step: int) -> Action:
        """The boundary after `step` finished steps."""
        action = ctypes.c_int()
        self._call("ringrt_job_step", step, ctypes.byref(action))
        return self._acted(action)

    def saved(self, failure: Optional[BaseException] = None) -> Action:
        """The save of the last step is on disk at this rank, or failed."""
        action = ctypes.c_int()
        self._call("ringrt_job_saved", _status_of(failure), ctypes.byref(action))
        return self._acted(action)

    def saving(self, failure: Optional[BaseException] = None) -> None:
        """A save of the last step has begun at this rank, or failed."""
        self._call("ringrt_job_saving", _status_of(failure))

    def written(self) -> None:
        """This rank's part of that save is written, or failed. Any thread may call it."""
        self._call("ringrt_job_written")

    def progress(self) -> bytes:
        """What the job has learned: save it of rank 0, with the program's checkpoint."""
        data, count = ctypes.c_void_p(), ctypes.c_size_t()
        self._call("ringrt_job_progress", ctypes.byref(data), ctypes.byref(count))
        return ctypes.string_at(data, count.value)

    def resumed(self, step: int, progress: bytes = b"") -> None:
        """The program continues after `step` steps, from its own checkpoint with these bytes of progress()."""
        self._call("ringrt_job_resumed", step, progress, len(progress))

    def resize(self, comm: Optional[Communicator]) -> Resized:
        """After Action.RESIZE, after PeerLost or TimedOut of any call, and first of all in an extension.

        Args:
            comm: The communicator of the ranks so far. The result holds the same object, with the present ranks.

        Raises:
            PeerLost: The job starts again from its newest checkpoint.
            Aborted: This rank was asked to leave before it has joined: end.
        """
        if comm:
            comm.discard()
        made, step, root = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_int()
        self._call("ringrt_job_resize", ctypes.byref(made), ctypes.byref(step), ctypes.byref(root))
        if not made:
            return Resized(None, step.value, root.value)
        if comm:
            comm.replace(made)
        self._comm = comm or Communicator.over(made)
        return Resized(self._comm, step.value, root.value)

    # ---- the batch, and what the scheduler learns ----------------------------------------------

    def batch(self) -> Share:
        """This rank's samples of the next step's global_batch."""
        share = Share()
        self._call("ringrt_job_batch", ctypes.byref(share))
        return share

    def set_batch(self, global_batch: int) -> None:
        self._call("ringrt_job_set_batch", global_batch)

    def set_steps_left(self, steps: int) -> None:
        self._call("ringrt_job_set_steps_left", steps)

    def set_samples_left(self, samples: int) -> None:
        self._call("ringrt_job_set_samples_left", samples)

    def set_planned_speeds(self, step_ms: Mapping[int, float]) -> None:
        """The time of a step that the program predicts, by number of GPUs."""
        speeds = (Speed * len(step_ms))(*(Speed(gpus, each) for gpus, each in step_ms.items()))
        self._call("ringrt_job_set_planned_speeds", speeds, len(step_ms))

    def set_loss(self, loss: float, goal: float = 0.0) -> None:
        """The loss of the current step, from which the scheduler estimates the remaining training."""
        self._call("ringrt_job_set_loss", loss, goal)

    # ---- the end -----------------------------------------------------------------------------

    def abort(self) -> None:
        """Makes the peers' calls fail at once. May be called from any thread."""
        self._library.ringrt_job_abort(self._job)

    def close(self) -> None:
        """Waits for all ranks, but for none after Action.LEAVE. Does nothing if it is closed."""
        job, self._job = self._job, ctypes.c_void_p()
        status = self._library.ringrt_job_close(job)
        if job and self._ends_alone:
            self._comm.discard()
        if status != OK:
            raise error_of(status, self._line(None))


def _status_of(failure: Optional[BaseException]) -> int:
    if failure is None:
        return OK
    return failure.status if isinstance(failure, Error) and failure.status > 0 else CheckpointFailed.status
