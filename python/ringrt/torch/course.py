# SPDX-License-Identifier: BSD-3-Clause
"""Makes a framework's own training loop malleable: the common part of the Lightning and HF Trainer adapters.

The framework keeps its loop, its accumulation and its checkpoint format. A Course chooses the next samples, seeds
and weights each micro-batch, and at the step boundary saves and leaves when asked. Samples and micro-batches are
those of plan.py: at every size, the script's batch size at the most ranks."""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterator, Optional

import torch
from torch.utils.data import BatchSampler, IterableDataset

from ..errors import Error
from ..handle import Handle
from ..hooks import warn
from ..leaving import Leave
from . import live
from .accumulate import GradientScale
from .elements import INT64
from .loader import epoch_order
from .plan import MicroBatch, Plan, reference_of, seed_of
from .randomness import SeededIndices, seed_all

POSITION = "position.json"


class Declined(Exception):
    """This training cannot be made malleable without its author."""


def end_extension() -> None:
    """Call after the line about a failure: an extension alone is no training."""
    if live.is_extension():
        raise SystemExit(1)


def innermost(batch_sampler: Any) -> BatchSampler:
    """The program's own batch sampler, inside the framework's wrappers."""
    while hasattr(batch_sampler, "batch_sampler"):
        batch_sampler = batch_sampler.batch_sampler
    if type(batch_sampler) is not BatchSampler:
        raise Declined("the training's DataLoader has no batch size, or has its own batch sampler")
    return batch_sampler


class Course:
    def __init__(self, framework: str, save: Callable[[str], None], world: "dict[str, Any]",
                 in_place: "Optional[Callable[[Handle], None]]" = None) -> None:
        """`in_place`: the training is resized in place, and this is called before the handle has a saver. Then a
        micro-batch of the framework is this rank's whole share of a step, and an extension has no state yet."""
        self.framework = framework
        self.directory: Optional[str] = None  # of the checkpoint to continue from
        self.plan: Optional[Plan] = None
        self.every = 1  # the script's own accumulation
        self._save_files = save
        self._saved: "dict[str, Any]" = {}
        self._scale: Optional[GradientScale] = None
        self._epoch = self._index = 0  # of the next micro-batch
        self._told = 0  # the last step reported to the library
        self.handle: Optional[Handle] = Handle(**world, live_resize=int(in_place is not None))
        self.rank, self.size = self.handle.rank, self.handle.size
        self._reference = reference_of(os.environ.get("RINGRT_MALLEABLE"), self.size, evenly=in_place is None)
        # This rank's micro-batches for one at the most ranks.
        self.accumulate = self._reference // self.size if in_place is None else 1
        if in_place is not None:
            in_place(self.handle)
        self.handle.set_saver(self._save, self._load)
        self.seed = 0
        if not live.is_extension():  # an extension joins later
            self._told = self.handle.restore() or 0
            self.seed = self._saved.get("seed", self._shared_seed())

    def _shared_seed(self) -> int:
        seed = torch.tensor([torch.initial_seed() >> 1], dtype=torch.int64)
        if self.size > 1:
            self.handle.broadcast(seed.data_ptr(), 1, INT64, 0)  # type: ignore[union-attr]
        return int(seed)

    # ---- checkpoints -----------------------------------------------------------------------------

    def _save(self, directory: str, _step: int) -> None:
        self._save_files(directory)
        if self.rank == 0:
            with open(os.path.join(directory, POSITION), "x", encoding="ascii") as file:
                json.dump(self.position(), file)

    def position(self) -> "dict[str, Any]":
        plan = self.plan
        assert plan is not None
        return {"framework": self.framework, "seed": self.seed, "epoch": self._epoch,
                "epoch_step": self._index // self.accumulate, "samples": plan.samples, "steps": plan.steps,
                "batch": plan.batch, "reference": plan.reference, "every": self.every}

    def _load(self, directory: str, _step: int) -> None:
        with open(os.path.join(directory, POSITION), encoding="ascii") as file:
            self.take(json.load(file))
        self.directory = directory

    def take(self, position: "dict[str, Any]") -> None:
        """Begins at the position of a checkpoint, or of the ranks that this one joins."""
        if position["framework"] != self.framework:
            raise ValueError(f"the checkpoint is one of {position['framework']}")
        self._saved, self.seed = position, position["seed"]
        if self.plan is not None:  # of an extension that has its loader
            self._check_saved(self.plan, self.every)

    # ---- samples ---------------------------------------------------------------------------------

    def attach(self, loader: Any, model: torch.nn.Module, every: int) -> "Batches":
        """Returns the replacement of the loader's batch sampler. `every`: the script's micro-batches per step."""
        if isinstance(loader.dataset, IterableDataset):
            raise Declined("an IterableDataset has no positions to continue from")
        own = innermost(loader.batch_sampler)
        drop_last = bool(own.drop_last or getattr(own.sampler, "drop_last", False))
        plan = Plan(len(loader.dataset), own.batch_size, self._reference, drop_last)
        self._check_saved(plan, every)
        self.plan, self.every = plan, every
        if self._scale is None:  # an extension that joins again has one, with hooks
            self._scale = GradientScale(model)
        return Batches(self, own.sampler)

    def _check_saved(self, plan: Plan, every: int) -> None:
        for name, mine in (("samples", plan.samples), ("batch", plan.batch), ("reference", plan.reference),
                           ("every", every)):
            if self._saved and self._saved[name] != mine:
                raise Declined(f"the checkpoint was made with {name}={self._saved[name]}, this run has {mine}")

    @property
    def epoch(self) -> int:
        """The epoch in which this run begins."""
        return self._saved.get("epoch", 0)

    @property
    def saved_steps(self) -> int:
        return self._saved["steps"]

    def first_index(self, epoch: int) -> int:
        """This run's first micro-batch in that epoch."""
        return self._saved["epoch_step"] * self.accumulate if self._saved and epoch == self.epoch else 0

    def micro(self, index: int) -> MicroBatch:
        """This rank's index-th micro-batch of an epoch, as positions in the epoch's order."""
        assert self.plan is not None
        step, number = divmod(index, self.accumulate)
        return self.plan.of_step(range(self.plan.samples), step, self.rank, self.size)[number]

    def share(self, index: int) -> "list[MicroBatch]":
        """Resized in place: all of this rank's micro-batches of one at the most ranks."""
        assert self.plan is not None
        return self.plan.of_step(range(self.plan.samples), index, self.rank, self.size)

    def seed_of(self, epoch: int, micro: MicroBatch) -> int:
        return seed_of(self.seed, epoch, micro.step, micro.worker)

    def begin(self, epoch: int, index: int, is_mean: bool = True) -> None:
        """Call before a micro-batch's forward pass. `is_mean`: the framework divides the loss by the number of
        micro-batches; otherwise it has weighted the loss by samples."""
        self.begin_micro(epoch, self.micro(index), is_mean)

    def begin_micro(self, epoch: int, micro: MicroBatch, is_mean: bool) -> float:
        """Returns the weight of its gradients."""
        assert self._scale is not None
        scale = micro.scale * self.accumulate if is_mean or not micro.scale else 1.0
        self._scale.set(scale)
        seed_all(self.seed_of(epoch, micro))
        return scale

    # ---- the boundary ----------------------------------------------------------------------------

    def boundary(self, steps: int, epoch: int, index: int) -> None:
        """Call after `steps` updates in total, before that micro-batch. Ends the process when the job was
        requeued."""
        if self.handle is None or steps <= self._told:
            return
        self.note(steps, epoch, index)
        try:
            left = self.handle.step(steps)
        except Error as error:
            self.close(error)
            return
        if left:
            self.finish()
            raise Leave(0)  # Slurm restarts the job

    def note(self, steps: int, epoch: int, index: int) -> None:
        """The position that a checkpoint made now has."""
        self._told, self._epoch, self._index = steps, epoch, index

    def steps_left(self, steps: float) -> None:
        if self.handle is not None and 0 <= steps < float("inf"):
            self.handle.set_steps_left(int(steps))

    def finish(self) -> None:
        handle, self.handle = self.handle, None
        if handle is not None:
            handle.finalize()

    def close(self, why: BaseException) -> None:
        """Training continues without the library."""
        warn(why)
        handle, self.handle = self.handle, None
        if handle is not None:
            handle.abort()
            handle.finalize()
        end_extension()


class Batches:
    """Replaces a DataLoader's batch sampler."""

    def __init__(self, course: Course, sampler: Any) -> None:
        self._course, self.sampler = course, sampler
        self.epoch: Callable[[], int] = lambda: 0
        self.skips = True  # starts this run's first epoch in its middle (False: the framework skips)

    def __iter__(self) -> "Iterator[SeededIndices]":
        course, epoch = self._course, self.epoch()
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)
        order = epoch_order(self.sampler, epoch, course.seed)
        for index in range(course.first_index(epoch) if self.skips else 0, len(self)):
            micro = course.micro(index)
            yield SeededIndices([order[position] for position in micro.indices], course.seed_of(epoch, micro))

    def __len__(self) -> int:
        assert self._course.plan is not None
        return self._course.plan.steps * self._course.accumulate
