# SPDX-License-Identifier: BSD-3-Clause
"""A malleable() run that is resized in place (doc/live.md): its boundaries when ranks join and leave.

A rank's state is identified by (steps done, epoch). If a rank of an extension is lost, the base's ranks drop their
part of the current step and continue from the newest state that one of them has. An extension whose place is gone,
because another one was lost or one below it left, joins again with the base's state of that time."""
from __future__ import annotations

import copy
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, Optional

import torch

from ..errors import Aborted, Error, PeerLost, TimedOut
from ..leaving import Leave
from .elements import BYTE, INT64
from .grouping import why_not_rebuilt
from .live_world import LiveWorld
from .packed import Packed, unpacked, unpacked_bytes
from .registration import why_not as why_no_backend
from .step_stage import Stage

if TYPE_CHECKING:
    from .malleable import Malleable


def is_extension() -> bool:
    return bool(os.environ.get("RINGRT_EXTENDS"))


def is_asked() -> bool:
    return os.environ.get("RINGRT_LIVE_RESIZE") == "1" or is_extension()


def why_not(model: torch.nn.Module, ddp: "Optional[list[Any]]", options: "dict[str, bool]") -> Optional[str]:
    """Why this training is resized only by requeue, or None. `ddp`: None if the adapter makes it later.
    `options`: those that are set."""
    for name, is_set in options.items():
        if is_set:
            return f"{name} cannot be resized in place"
    if os.environ.get("RINGRT_CHECKPOINT_LOCAL"):
        return "RINGRT_CHECKPOINT_LOCAL cannot be combined with it"
    if why_no_backend():
        return why_no_backend()
    if not torch.distributed.is_initialized():
        return "torch.distributed has no process group"
    if ddp is not None and not ddp:
        return "model has no DistributedDataParallel"
    if hasattr(model, "_orig_mod"):
        return "model is compiled"
    if any(parameter.device.type != "cpu" for parameter in model.parameters()):
        return "model is not in ordinary memory"
    for one in ddp or []:
        if one.process_group.size() != torch.distributed.get_world_size():
            return "its DistributedDataParallel has its own process group"
        why = why_not_rebuilt(one)
        if why:
            return f"its DistributedDataParallel cannot be changed: {why}"
    return None


def say(line: str) -> None:
    sys.stderr.write(f"ringrt: {line}\n")


def decline(why: str, is_first: bool) -> None:
    if is_extension():
        raise ValueError(f"this training cannot be an extension: {why}")
    if is_first:
        say(f"not resized in place, but by requeue: {why}")


class Live:
    def __init__(self, run: "Malleable", model: torch.nn.Module, opts: "list[Any]", small: "dict[str, Any]") -> None:
        """`small`: parts of the state that are cheap to copy, and that the program also changes outside of a step."""
        self.run, self.handle, self.extension = run, run.handle, is_extension()
        self._model, self._opts, self._small = model, opts, small
        self._position = run._position
        self.world = LiveWorld(self.handle, run._ddp, self._position)
        self.world.base_ranks = 0 if self.extension else self.handle.size
        self.moves = 0  # counts changes that invalidate the planned micro-batches
        self.returns = 0  # how often an extension has joined again
        self._redo = False  # this rank runs to the end of its epoch's body, but the results do not count
        self._keeps_all = len(opts) > 1
        self._kept: "dict[str, Any]" = {}
        self._packed: Optional[Packed] = None
        self.states: "list[tuple[int, ...]]" = []  # of all ranks, when they last agreed
        self.handle.set_live_state(self._pack, self._unpack)

    # ---- the state ---------------------------------------------------------------------------------

    def _pack(self) -> "list[tuple[int, int]]":
        self._packed = Packed(self.run._state.content())
        return self._packed.pieces

    def _unpack(self, address: int, count: int) -> None:
        self.run._state.fill(unpacked(address, count))

    def _keep(self) -> None:
        """Copies what a step, and the code after an epoch's steps, change before all ranks have agreed."""
        self._packed = None
        self._keeps_all |= self._position.step.updates > 1
        self._position.step.begin(void=self._redo)
        self._kept = {} if self.extension or not self.world.can_go_on() else {
            "buffers": [buffer.clone() for buffer in self._model.buffers()],
            "small": {name: copy.deepcopy(part.state_dict()) for name, part in self._small.items()},
            "groups": [[{key: copy.copy(value) for key, value in group.items() if key != "params"}
                        for group in opt.param_groups] for opt in self._opts],
            "all": Packed(self.run._state.content()).copy() if self._keeps_all else None}

    def _go_back(self) -> None:
        kept = self._kept
        if self._position.step.stage is Stage.TORN:
            if kept["all"] is None:
                raise PeerLost("an extension was lost between two updates of one step: its first part cannot be undone")
            self.run._state.fill(unpacked_bytes(kept["all"]))
        with torch.no_grad():
            for buffer, was in zip(self._model.buffers(), kept["buffers"]):
                buffer.copy_(was)
        for name, part in self._small.items():
            part.load_state_dict(copy.deepcopy(kept["small"][name]))
        for opt, groups in zip(self._opts, kept["groups"]):
            for group, was in zip(opt.param_groups, groups):
                group.update(was)

    # ---- ranks join and leave -------------------------------------------------------------------------

    def begin(self) -> None:
        """On the base: call when its state is restored."""
        if not self.extension:
            self._form()

    def join(self) -> None:
        """On an extension: call before its first epoch."""
        if self.extension and not self.moves:
            self.await_base()
            self._form()

    def await_base(self) -> None:
        try:
            self.handle.restore()
        except Aborted as error:
            self._end(str(error), 0)
        except Error as error:
            self._end(str(error), 1)

    def _join_again(self, in_tail: bool) -> None:
        epoch = self.run.epoch
        self.await_base()
        self.returns += 1
        self._redo = self.run.epoch != epoch and not in_tail
        self._form()

    def _form(self) -> None:
        self.moves += 1
        self.handle.refresh_ranks()
        for parameter in self._model.parameters():
            parameter.grad = None
        self.world.form()
        self._keep()

    def _end(self, line: str, status: int) -> NoReturn:
        say(f"this extension ends: {line}")
        self.handle.abort()
        try:
            self.handle.finalize()
        except Error:
            pass
        raise Leave(status)

    def boundary(self, in_tail: bool) -> bool:
        """The ballot after a step, or after an epoch (`in_tail`: after the epoch's body). False: a rank was lost in
        it."""
        self.world.drain()
        before = self.handle.rank, self.handle.size
        try:
            self._before_ballot()
            self.run.left = self.handle.step(self.run.steps_done)
        except (PeerLost, TimedOut):
            self.handle.refresh_ranks()  # the extensions may have left in the same ballot
            if not self.world.can_go_on():
                raise
            self._recover(in_tail)
            return False
        if self.run.left:
            self.handle.finalize()
            raise Leave(0)
        self.handle.refresh_ranks()
        if (self.handle.rank, self.handle.size) == before:
            self._keep()
            return True
        if self.handle.size < before[1] and not self._agree(in_tail):
            self._recover(in_tail)
            return False
        self._form()
        return True

    def _before_ballot(self) -> None:
        """What may find a loss, as the ballot does."""

    def is_void(self) -> bool:
        """Whether the current step was not done, and begins again."""
        return self._position.step.is_done_again

    def undo(self, in_tail: bool) -> None:
        """Undoes everything since the last ballot."""
        self.world.drain()
        if not self.extension:
            self._go_back()
        self._recover(in_tail)

    def _recover(self, in_tail: bool) -> None:
        if self.extension:
            self._join_again(in_tail)
            return
        self.handle.restore()  # raises if a rank of the base is lost
        self.handle.refresh_ranks()
        if not self._agree(in_tail):
            raise PeerLost("a rank of the base was lost")
        self._form()

    def _agree(self, in_tail: bool) -> bool:
        """All ranks that settled together continue from the newest state; False: one of them was lost."""
        run, handle = self.run, self.handle
        epoch = run.epoch
        mine = torch.tensor([run.steps_done, run.epoch, int(in_tail)])
        every = torch.empty(handle.size, 3, dtype=torch.int64)
        try:
            handle.allgather(mine.data_ptr(), every.data_ptr(), mine.numel(), INT64)
            self.states = states = [tuple(row[:2]) for row in every.tolist()]
            newest = max(states)
            if min(states) != newest:
                self._share(states.index(newest), states[handle.rank] != newest)
        except (PeerLost, TimedOut):
            return False
        # If one rank has left the batches, the others must follow, if only in appearance.
        over = run.epoch != epoch or (run.epoch_step >= run.plan.steps and bool(every[:, 2].any()))
        self._redo = over and not in_tail
        return True

    def _share(self, root: int, is_behind: bool) -> None:
        """Sends one rank's state to the ranks that are behind."""
        packed = Packed(self.run._state.content()).copy() if self.handle.rank == root else b""
        count = torch.tensor([len(packed)])
        self.handle.broadcast(count.data_ptr(), 1, INT64, root)
        room = torch.frombuffer(bytearray(packed or int(count)), dtype=torch.uint8)
        self.handle.broadcast(room.data_ptr(), room.numel(), BYTE, root)
        if is_behind:
            self._unpack(room.data_ptr(), room.numel())

    def ends_epoch(self, epoch: int) -> bool:
        """Call after the body of an epoch: whether it is really over."""
        if self._redo:
            self._redo = False
            self._position.step.begin()
            return False
        if self._position.step.is_lost:
            self.undo(in_tail=True)
            return False
        return self.run.epoch == epoch

    def finish(self) -> None:
        self.world.drain()
        self._meet()
        rank = self.handle.rank
        self.handle.finalize()
        if self.extension:
            raise Leave(0)  # only the base runs what follows the training
        self.world.close()
        self._closed(rank)

    def _meet(self) -> None:
        """A rank of the base that saw a loss in the last ballot finds here those that did not."""
        if self.handle.size == self.world.base_ranks:
            return
        try:
            self.handle.barrier()
        except (PeerLost, TimedOut):
            if not self.extension:
                self._recover(in_tail=True)

    def _closed(self, rank: int) -> None:
        """On the base, which is alone, when the handle is closed; `rank`: in it."""
