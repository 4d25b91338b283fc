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
from .accumulate import GradientScale
from .loader import epoch_order
from .plan import MicroBatch, Plan, reference_of, seed_of
from .randomness import SeededIndices, seed_all

POSITION = "position.json"


class Declined(Exception):
    """This training cannot be made malleable without its author."""


def innermost(batch_sampler: Any) -> BatchSampler:
    """The program's own batch sampler, inside the framework's wrappers."""
    while hasattr(batch_sampler, "batch_sampler"):
        batch_sampler = batch_sampler.batch_sampler
    if type(batch_sampler) is not BatchSampler:
        raise Declined("the training's DataLoader has no batch size, or has its own batch sampler")
    return batch_sampler


class Course:
    def __init__(self, framework: str, save: Callable[[str], None], world: "dict[str, Any]") -> None:
        self.framework = framework
        self.folder: Optional[str] = None  # of the checkpoint to continue from
        self.plan: Optional[Plan] = None
        self.every = 1  # the script's own accumulation
        self._save_files, self._saved = save, {}
        self._scale: Optional[GradientScale] = None
        self._epoch = self._index = 0  # of the next micro-batch
        self._told = 0  # the last step reported to the library
        self.handle: Optional[Handle] = Handle(**world)
        self.rank, self.size = self.handle.rank, self.handle.size
        self._reference = reference_of(os.environ.get("RINGRT_MALLEABLE"), self.size)
        self.accumulate = self._reference // self.size  # this rank's micro-batches for one at the most ranks
        self.handle.set_saver(self._save, self._load)
        self._told = self.handle.restore() or 0
        self.seed = self._saved.get("seed", self._shared_seed())

    def _shared_seed(self) -> int:
        seed = torch.tensor([torch.initial_seed() >> 1], dtype=torch.int64)
        if self.size > 1:
            self.handle.broadcast(seed.data_ptr(), 8, 0)  # type: ignore[union-attr]
        return int(seed)

    # ---- checkpoints -----------------------------------------------------------------------------

    def _save(self, folder: str, _step: int) -> None:
        self._save_files(folder)
        if self.rank == 0:
            plan = self.plan
            assert plan is not None
            with open(os.path.join(folder, POSITION), "x", encoding="ascii") as file:
                json.dump({"framework": self.framework, "seed": self.seed, "epoch": self._epoch,
                           "epoch_step": self._index // self.accumulate, "samples": plan.samples,
                           "steps": plan.steps, "batch": plan.batch, "reference": plan.reference, "every": self.every}, file)

    def _load(self, folder: str, _step: int) -> None:
        with open(os.path.join(folder, POSITION), encoding="ascii") as file:
            self._saved = json.load(file)
        if self._saved["framework"] != self.framework:
            raise ValueError(f"the checkpoint is one of {self._saved['framework']}")
        self.folder = folder

    # ---- samples ---------------------------------------------------------------------------------

    def attach(self, loader: Any, model: torch.nn.Module, every: int) -> "Batches":
        """Returns the replacement of the loader's batch sampler. `every`: the script's micro-batches per step."""
        if isinstance(loader.dataset, IterableDataset):
            raise Declined("an IterableDataset has no positions to continue from")
        own = innermost(loader.batch_sampler)
        drop_last = bool(own.drop_last or getattr(own.sampler, "drop_last", False))
        plan = Plan(len(loader.dataset), own.batch_size, self._reference, drop_last)
        for name, mine in (("samples", plan.samples), ("batch", plan.batch), ("reference", plan.reference),
                           ("every", every)):
            if self._saved and self._saved[name] != mine:
                raise Declined(f"the checkpoint was made with {name}={self._saved[name]}, this run has {mine}")
        self.plan, self.every, self._scale = plan, every, GradientScale(model)
        return Batches(self, own.sampler)

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

    def seed_of(self, epoch: int, micro: MicroBatch) -> int:
        return seed_of(self.seed, epoch, micro.step, micro.worker)

    def begin(self, epoch: int, index: int, is_mean: bool = True) -> None:
        """Call before a micro-batch's forward pass. `is_mean`: the framework divides the loss by the number of
        micro-batches; otherwise it has weighted the loss by samples."""
        assert self._scale is not None
        micro = self.micro(index)
        self._scale.set(micro.scale * self.accumulate if is_mean or not micro.scale else 1.0)
        seed_all(self.seed_of(epoch, micro))

    # ---- the boundary ----------------------------------------------------------------------------

    def boundary(self, steps: int, epoch: int, index: int) -> None:
        """Call after `steps` updates in total, before that micro-batch. Ends the process when the job was
        requeued."""
        if self.handle is None or steps <= self._told:
            return
        self._told, self._epoch, self._index = steps, epoch, index
        try:
            left = self.handle.step(steps)
        except Error as error:
            self.close(error)
            return
        if left:
            self.finish()
            raise SystemExit(0)  # Slurm restarts the job

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
