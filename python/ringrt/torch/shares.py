# SPDX-License-Identifier: BSD-3-Clause
"""The data of a framework's loop that is resized in place: the loop counts batches of the most ranks, and a rank
takes its share of each."""
from __future__ import annotations

from typing import Any, Iterator

from .course import Course
from .loader import epoch_order
from .plan import MicroBatch, Plan
from .randomness import SeededIndices


class Share:
    """What the Trainer takes for one batch."""

    def __init__(self, index: int, parts: "list[tuple[MicroBatch, Any]]") -> None:
        self.index, self.parts = index, parts


class Steps:
    """What the Trainer takes for its DataLoader: the batches' numbers in the epoch."""

    def __init__(self, plan: Plan, dataset: Any, first: int = 0) -> None:
        self.dataset = dataset
        self._plan, self._first = plan, first

    def __len__(self) -> int:
        return self._plan.steps

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._first, self._plan.steps))

    def after(self, count: int) -> "Steps":
        return Steps(self._plan, self.dataset, count)


class Shares:
    """Reads this rank's shares by the script's DataLoader, in order from any place."""

    def __init__(self, course: Course, loader: Any, sampler: Any) -> None:
        self._course, self._loader, self._sampler = course, loader, sampler
        self._from = self._next = (-1, -1)  # epoch, index
        self._batches: Iterator[Any] = iter(())
        loader.__dict__["batch_sampler"] = self  # DataLoader forbids setting this attribute

    def forget(self) -> None:
        """The ranks have changed: a rank has other shares."""
        self._next = (-1, -1)

    def get(self, epoch: int, index: int) -> Share:
        if self._next != (epoch, index):
            self._from = epoch, index
            self._batches = iter(self._loader)
        self._next = epoch, index + 1
        return Share(index, [(micro, next(self._batches)) for micro in self._course.share(index)])

    def __iter__(self) -> "Iterator[SeededIndices]":
        course, (epoch, first) = self._course, self._from
        assert course.plan is not None
        if hasattr(self._sampler, "set_epoch"):
            self._sampler.set_epoch(epoch)
        order = epoch_order(self._sampler, epoch, course.seed)
        for index in range(first, course.plan.steps):
            for micro in course.share(index):
                yield SeededIndices([order[position] for position in micro.indices], course.seed_of(epoch, micro))

    def __len__(self) -> int:
        assert self._course.plan is not None
        return self._course.plan.steps * len(self._course.share(0))
