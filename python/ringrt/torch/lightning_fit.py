# SPDX-License-Identifier: BSD-3-Clause
"""Lightning: one fit() that can be resized, by a requeue. lightning.py opens it."""
from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Optional

from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, SequentialSampler

from ..handle import ranks_from_environment
from .course import Batches, Course, Declined

FILE = "lightning.ckpt"


def check_one_loader(source: Any) -> None:
    if not isinstance(source, DataLoader):
        raise Declined(f"the training's data is a {type(source).__name__}, not one DataLoader")


class Fit:
    """One fit() that can be resized."""

    def __init__(self, trainer: Any, model: Any) -> None:
        self.trainer, self.model = trainer, model
        self.every = trainer.accumulate_grad_batches
        self._limits = trainer.limit_train_batches, getattr(trainer, "val_check_interval", None)
        self._began = False
        warnings.filterwarnings("ignore", message=".*dataloader is not resumable")  # it is resumable here
        self.course = self._make_course()

    def _make_course(self) -> Course:
        return Course("Lightning", lambda directory: self.trainer.save_checkpoint(os.path.join(directory, FILE)),
                      ranks_from_environment())

    def fit(self, inner: "Callable[[], Any]") -> Any:
        """`inner`: Lightning's own fit()."""
        return inner()

    def batches_of(self, loader: Any) -> "Optional[Batches]":
        """None: this training is not malleable, or no longer."""
        if self.course.handle is None:
            return None
        try:
            check_one_loader(loader)
            return self.course.attach(loader, self.model, self.every)
        except Exception as error:
            self.course.close(error)
            return None

    def attach(self, loader: Any) -> Any:
        """Changes the loader in place, and the Trainer's batch counts, which are per rank."""
        course, trainer, batches = self.course, self.trainer, self.batches_of(loader)
        if batches is None:
            return loader
        batches.epoch = lambda: trainer.current_epoch
        trainer.accumulate_grad_batches = self.every * course.accumulate
        limit, check = self._limits
        if isinstance(limit, int):
            trainer.limit_train_batches = limit * course.accumulate
        if isinstance(check, int):
            trainer.val_check_interval = check * course.accumulate
        order = order_of(loader, batches)
        if order is not None:
            loader.__dict__["sampler"] = order  # DataLoader forbids setting these attributes
        loader.__dict__["batch_sampler"] = batches
        return loader

    def place(self, checkpoint: "dict[str, Any]") -> None:
        course = self.course
        if course.handle is not None and course.directory:
            place(checkpoint["loops"]["fit_loop"], course.epoch, course.first_index(course.epoch),
                  course.saved_steps * course.accumulate, hasattr(self.trainer.fit_loop, "restarted_mid_epoch"))

    def begin_batch(self, index: int) -> None:
        course, trainer = self.course, self.trainer
        if course.handle is None or course.plan is None:
            return
        self._begin()
        if index % trainer.accumulate_grad_batches == 0:
            course.boundary(trainer.global_step, trainer.current_epoch, index)
        course.begin(trainer.current_epoch, index)

    def _begin(self) -> None:
        course, trainer = self.course, self.trainer
        if self._began:
            return
        self._began = True
        course.steps_left(trainer.estimated_stepping_batches - trainer.global_step)
        if course.directory:
            # After its first batches, a resumed epoch is treated like any other: logged by steps, and a
            # plateau scheduler moves at its end.
            trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step
            trainer.fit_loop._restarting = False


class _Order(DistributedSampler):
    """Replaces a sampler of one process: Lightning keeps a DistributedSampler, and splits any other over its own
    ranks. The order is DistributedSampler's in both cases."""

    def __init__(self, dataset: Any, shuffle: bool) -> None:
        super().__init__(dataset, 1, 0, shuffle, seed=int(os.environ.get("PL_GLOBAL_SEED", 0)))


def order_of(loader: Any, batches: Batches) -> Optional[_Order]:
    """Replaces the batches' sampler by the one that Lightning would use at several ranks. Returns what the loader
    needs for its sampler; None: it keeps its own."""
    sampler = batches.sampler
    if isinstance(sampler, DistributedSampler):
        return None
    shuffle = isinstance(sampler, RandomSampler) and not sampler.replacement and len(sampler) == len(loader.dataset)
    order = _Order(loader.dataset, shuffle)
    if shuffle or isinstance(sampler, SequentialSampler):
        batches.sampler = order
    return order


def place(fit_loop: "dict[str, Any]", epoch: int, index: int, per_epoch: int, has_stages: bool) -> None:
    """Converts the saved counts to this size, because Lightning counts batches per rank: in `epoch`, before batch
    `index`, with per_epoch batches per epoch. The form is Lightning's own, as saved at the end of a batch or
    between two epochs. A Lightning that has stages of a restart (since 2.5) completes that batch when it restarts.
    PURE."""
    open_batches = 1 if has_stages else 0

    def fill(progress: "dict[str, int]", ready: int, completed: int, processed: "int | None" = None) -> None:
        progress.update(ready=ready, started=ready, processed=ready if processed is None else processed,
                        completed=completed)

    epochs, batches = fit_loop["epoch_progress"], fit_loop["epoch_loop.batch_progress"]
    batches["is_last_batch"] = False
    done = epoch * per_epoch + index
    for part in ("total", "current"):
        if index:  # in the middle: this epoch has begun
            fill(epochs[part], epoch + 1, epoch, epoch)
            fill(batches[part], done if part == "total" else index, (done if part == "total" else index) - open_batches)
        else:
            fill(epochs[part], epoch, epoch)
            fill(batches[part], done if part == "total" else 0, done if part == "total" else 0)
    if not index and done:
        batches["total"]["started"] = done - 1  # neither "at a batch's end" nor "at the last": a new epoch
