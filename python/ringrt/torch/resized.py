# SPDX-License-Identifier: BSD-3-Clause
"""What the adapters of frameworks have in common if their loops are resized in place (live.py).

Nothing can set such a loop back, so it counts the batches of the most ranks, and never sees a resize or a loss. Where
a rank is lost, the others' work is done again before it returns to the loop. So the ranks may be in different places
when they agree on the newest state:

    a step's batches ──► its update ──► validation ──► the boundary's ballot ──► the next step's batches (`passed`)

A rank that is behind gets the newer state, and runs to the boundary without effect. A rank that lost a peer in the
ballot waits there for it, unless another rank has passed."""
from __future__ import annotations

from typing import Any, Callable, NoReturn

from torch.nn.parallel import DistributedDataParallel

from ..handle import Handle
from .accumulate import Position
from .course import Course
from .live import Live
from .plan import Plan
from .step_stage import Event

_PASSED = 1 << 30  # above all orders before a step's boundary


class JoinAgain(BaseException):
    """This extension has lost its place."""


class ResizedLive(Live):
    run: "Resized"  # type: ignore[assignment]

    def _form(self) -> None:
        super()._form()
        self.run.adopt(self.handle.rank, self.handle.size)

    def _join_again(self, in_tail: bool) -> NoReturn:
        raise JoinAgain

    def pass_boundary(self) -> None:
        while not self.run.passed:
            if self.boundary(in_tail=True):
                self.run.passed = True

    def settle(self) -> None:
        """Call after a loss outside of a step."""
        self._recover(in_tail=True)


class Resized:
    """One training that is resized in place. Also the run that Live needs."""

    course: Course
    _state: Any  # with content() and fill()

    def global_step(self) -> int:
        """The framework's count of updates."""
        raise NotImplementedError

    def adopt(self, rank: int, size: int) -> None:
        """Tells the framework about the present ranks."""
        raise NotImplementedError

    def done_since(self) -> int:
        """What orders the states between a step's update and its boundary."""
        return 0

    def _prepare(self) -> None:
        """Call before the Course is made."""
        self._position = Position()
        self._ddp: "list[DistributedDataParallel]" = []
        self._opts: "list[Any]" = []
        self.steps_done, self.epoch_step, self.left = 0, 0, False
        self.passed = False  # the boundary after these steps
        self.began = False

    def _make_live(self, handle: Handle, model: Any) -> None:
        self.handle = handle
        self.live = ResizedLive(self, model, self._opts, {})  # type: ignore[arg-type]

    # ---- what Live needs -------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        assert self.course.plan is not None
        return self.course.plan

    @property
    def epoch(self) -> int:
        """What orders the states after one step."""
        return _PASSED if self.passed else self.done_since()

    @property
    def opt(self) -> Any:
        return self._opts[0]

    @property
    def completes(self) -> bool:
        """Whether an update takes place: not if another rank has sent its result."""
        return self.steps_done <= self.global_step()

    # ---- for the adapters ------------------------------------------------------------------------

    def note_steps(self) -> None:
        """Call between two updates, before anything that may find a loss."""
        if self.global_step() > self.steps_done:
            self.steps_done, self.passed = self.global_step(), False

    def repeat_if_lost(self, outcome: Any, again: "Callable[[], Any]") -> Any:
        """Call between an update's last backward pass and the update. `again`: does the update's batches again.
        Returns the outcome that counts."""
        self.live.world.drain()
        while self._position.step.is_lost:
            self.live.undo(in_tail=True)
            if not self.completes:
                break
            outcome = again()
            self.live.world.drain()
        self._position.step.note(Event.UPDATE)  # with whole gradients nothing undoes it
        return outcome

    def guarded(self, train: "Callable[[], Any]") -> Any:
        """If the framework's training fails, the other ranks' calls fail too."""
        try:
            return train()
        except SystemExit:
            raise
        except BaseException:
            if self.course.handle is not None:
                self.handle.abort()
                self.handle.finalize()
            raise
