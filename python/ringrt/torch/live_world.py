# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over a handle's current communicator: the ranks of a job and of its extensions. When ranks join
or leave, torch needs no rendezvous, because the library has done it. The default group becomes another object,
which DistributedDataParallel then uses.

A lost rank must not appear in the program's loop, which could not continue after an exception. The collective ends
as if it had succeeded, and Position.step records that everything until the next boundary is done again."""
from __future__ import annotations

import ctypes
from datetime import timedelta
from typing import Any, Callable, Optional

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d
from torch.distributed import distributed_c10d
from torch.nn.parallel import DistributedDataParallel

from ..errors import InvalidArgument, PeerLost, TimedOut, Unsupported
from ..handle import Handle
from .accumulate import Position
from .backend import ProcessGroupRingrt
from .buckets import MIB
from .elements import as_bytes, from_bytes
from .grouping import rebuild_ddp
from .step_stage import Event
from .work import Work, WorkQueue

NAME = "ringrt_live"
_SIZES = (4, 8, 2, 2, 4, 8, 1, 1, 1, 1, 1)  # of a ringrt_dtype_t
_world: "Optional[LiveWorld]" = None  # torch creates a group by name only


class HandleCommunicator:
    """The communicator that ProcessGroupRingrt needs, from the collectives of a handle."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.allreduce, self.broadcast, self.barrier = handle.allreduce, handle.broadcast, handle.barrier
        self.reduce_scatter, self.allgather = handle.reduce_scatter, handle.allgather

    def _room(self, count: int, dtype: int) -> torch.Tensor:
        return torch.empty(count * _SIZES[dtype], dtype=torch.uint8)

    def reduce(self, send: int, recv: int, count: int, dtype: int, op: int, root: int) -> None:
        room = self._room(count, dtype)
        self._handle.allreduce(send, recv if self._handle.rank == root else room.data_ptr(), count, dtype, op)

    def gather(self, send: int, recv: int, count: int, dtype: int, root: int) -> None:
        room = self._room(count * self._handle.size, dtype)
        self.allgather(send, recv if self._handle.rank == root else room.data_ptr(), count, dtype)

    def scatter(self, send: int, recv: int, count: int, dtype: int, root: int) -> None:
        rank, each = self._handle.rank, count * _SIZES[dtype]
        room = self._room(count * self._handle.size, dtype)
        source = send if rank == root else room.data_ptr()
        self._handle.broadcast(source, count * self._handle.size, dtype, root)
        ctypes.memmove(recv, source + rank * each, each)

    def exchange(self, _sends: Any, _recvs: Any, _dtype: int) -> None:
        raise Unsupported("a training that is resized in place has no all_to_all")


class LiveGroup(ProcessGroupRingrt):
    """The ranks between two resizes."""

    def __init__(self, world: "LiveWorld", rank: int, size: int) -> None:
        c10d.Backend.__init__(self, rank, size)
        self._rank, self._size, self._world = rank, size, world
        self._comm, self._queue, self._allocated = world.communicator, world.queue, set()  # type: ignore[assignment]

    def getBackendName(self) -> str:
        return NAME

    def name(self) -> str:
        return NAME

    def _start(self, operation: "Callable[[Any], None]", opts: Any, tensors: "list[torch.Tensor]") -> Work:
        return super()._start(lambda comm: self._world.attempt(self, lambda: operation(comm)), opts, tensors)

    # After a loss, the outputs must still hold usable values, such as the size of objects that follow.
    def allgather(self, outputs: "list[list[torch.Tensor]]", inputs: "list[torch.Tensor]", opts: Any = None) -> Work:
        for out in outputs[0]:
            if out.dtype is inputs[0].dtype and out.numel() == inputs[0].numel():
                from_bytes(out, as_bytes(inputs[0]))
        return super().allgather(outputs, inputs, opts)

    def supports_tensor_alloc(self, _device: Any) -> bool:
        return False

    def abort(self) -> None:
        self._world.handle.abort()

    def shutdown(self) -> None:
        """Does nothing: the run owns the handle."""


class LiveWorld:
    def __init__(self, handle: Handle, ddp: "list[DistributedDataParallel]", position: Position) -> None:
        global _world
        _world = self
        self.handle, self.communicator = handle, HandleCommunicator(handle)
        self.queue = WorkQueue(NAME)
        self._ddp, self._position = ddp, position
        self._own = dist.group.WORLD  # the program's own, of this job's ranks
        self._present: Any = None
        self._number = 0
        self.base_ranks = 0  # 0: this rank is not of the base
        if NAME not in dist.Backend.backend_list:
            dist.Backend.register_backend(NAME, _create, devices=["cpu"])

    @property
    def present_group(self) -> Any:
        return self._present

    def can_go_on(self) -> bool:
        """After a loss: this rank is an extension's, or the lost one may be."""
        return self.base_ranks == 0 or self.handle.size > self.base_ranks

    def attempt(self, group: LiveGroup, operation: "Callable[[], None]") -> None:
        if self._position.step.is_lost:
            return
        if group._rank != self.handle.rank or group._size != self.handle.size:
            raise InvalidArgument("this process group is from before a resize: use torch.distributed's default group")
        try:
            operation()
        except (PeerLost, TimedOut):
            if not self.can_go_on():
                raise
            self._position.step.note(Event.LOSS)

    def drain(self) -> None:
        """Waits for the operations that the program started and did not wait for."""
        self.queue.start(lambda: None, [], in_background=False).wait()

    def form(self) -> None:
        """Makes a group of the current ranks the default group, also for DistributedDataParallel."""
        self._number += 1
        before = self._present
        made = distributed_c10d._new_process_group_helper(
            self.handle.size, self.handle.rank, [], NAME, dist.HashStore(), f"{NAME}_{self._number}",  # type: ignore[arg-type]
            timeout=timedelta(days=1))
        self._use(made[0] if isinstance(made, tuple) else made)
        if before is not None:
            dist.destroy_process_group(before)

    def _use(self, group: Any) -> None:
        distributed_c10d._update_default_pg(group)
        distributed_c10d._world.pg_group_ranks[group] = {rank: rank for rank in range(group.size())}
        self._present = group
        for ddp in self._ddp:
            rebuild_ddp(ddp, process_group=group, **_caps(ddp))

    def close(self) -> None:
        """Restores the program's own group, for its code after training."""
        global _world
        present, _world = self._present, None
        if present is not None:
            self._use(self._own)
            dist.destroy_process_group(present)
            self._present = None


def _create(_store: Any, rank: int, size: int, _timeout: Any) -> LiveGroup:
    if _world is None:
        raise InvalidArgument(f"the backend {NAME} is for ringrt.torch.malleable() alone")
    return LiveGroup(_world, rank, size)


def _caps(ddp: DistributedDataParallel) -> "dict[str, Any]":
    given = getattr(ddp, "bucket_bytes_cap_list", None)
    if given:
        return {"bucket_cap_mb_list": [cap / MIB for cap in given]}
    return {} if getattr(ddp, "bucket_bytes_cap_default", False) else {"bucket_cap_mb": ddp.bucket_bytes_cap / MIB}
