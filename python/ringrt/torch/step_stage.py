# SPDX-License-Identifier: BSD-3-Clause
"""The current step's state when a rank is lost, in a training that is resized in place (live.py).

              update        (update)
       OPEN ---------> UPDATED
        |                 |
        | loss            | loss
        v                 v    an update left out, or broken by the loss
       VOID              DONE -------------------------------------------> TORN

A VOID step is done again. A DONE step counts: its gradients were reduced before the loss. A TORN step has several
optimizers, of which only some have updated: it is undone and done again."""
from __future__ import annotations

import enum
import threading


class Stage(enum.Enum):
    OPEN = "no optimizer has updated weights"
    UPDATED = "one has"
    VOID = "a rank was lost before any update"
    DONE = "a rank was lost after the updates so far"
    TORN = "… and one of its updates is missing"


class Event(enum.Enum):
    UPDATE = "an optimizer updates its weights"
    LOSS = "a rank is found to be gone"
    LEFT_OUT = "after a loss, an optimizer's update does nothing or came to nothing"


TRANSITIONS = {
    (Stage.OPEN, Event.UPDATE): Stage.UPDATED,
    (Stage.UPDATED, Event.UPDATE): Stage.UPDATED,
    (Stage.OPEN, Event.LOSS): Stage.VOID,
    (Stage.UPDATED, Event.LOSS): Stage.DONE,
    (Stage.VOID, Event.LEFT_OUT): Stage.VOID,
    (Stage.DONE, Event.LEFT_OUT): Stage.TORN,
    (Stage.TORN, Event.LEFT_OUT): Stage.TORN,
    # The update had begun when another thread's collective found the loss.
    (Stage.VOID, Event.UPDATE): Stage.DONE,
    (Stage.DONE, Event.UPDATE): Stage.DONE,
    (Stage.TORN, Event.UPDATE): Stage.TORN,
    # Other collectives under way also find the loss.
    (Stage.VOID, Event.LOSS): Stage.VOID,
    (Stage.DONE, Event.LOSS): Stage.DONE,
    (Stage.TORN, Event.LOSS): Stage.TORN,
}


class Step:
    """The current step."""

    def __init__(self) -> None:
        self.stage = Stage.OPEN
        self.updates = 0
        self._lock = threading.Lock()  # background collectives note a loss

    def begin(self, void: bool = False) -> None:
        """void: everything until the next boundary is done only in appearance."""
        with self._lock:
            self.stage, self.updates = Stage.VOID if void else Stage.OPEN, 0

    def note(self, event: Event) -> None:
        with self._lock:
            self.stage = TRANSITIONS[self.stage, event]
            self.updates += event is Event.UPDATE

    @property
    def is_lost(self) -> bool:
        return self.stage in (Stage.VOID, Stage.DONE, Stage.TORN)

    @property
    def is_done_again(self) -> bool:
        return self.stage in (Stage.VOID, Stage.TORN)
