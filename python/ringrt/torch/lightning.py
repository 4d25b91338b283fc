# SPDX-License-Identifier: BSD-3-Clause
"""Lightning: makes an unmodified Trainer malleable. Lightning calls callbacks() for every Trainer (its entry point
callbacks_factory). Trainer.fit() opens the run and selects the checkpoint to continue from. The callback has
the step boundary, at the start of a step's first batch: by then, everything of the previous step is done,
including its validation and logging. lightning_live.py resizes the Trainer in place."""
from __future__ import annotations

import functools
import importlib
import inspect
import os
import signal
import warnings
from types import ModuleType
from typing import Any, Callable, Optional

from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, SequentialSampler

from ..handle import ranks_from_environment
from ..hooks import warn
from . import live
from .course import Batches, Course, Declined, end_extension

FILE = "lightning.ckpt"
_used = False  # only the first fit() of a program is malleable


def callbacks(package: str) -> "list[Any]":
    pl = importlib.import_module(package)
    _wrap(pl.Trainer, "fit", _fit)
    return [_callback(pl)]


def adapt(module: ModuleType) -> None:
    _wrap(module.Trainer, "__init__", _init)


def _wrap(owner: Any, name: str, around: Any) -> None:
    inner = getattr(owner, name)
    if not hasattr(inner, "_ringrt"):
        outer = functools.wraps(inner)(lambda self, *args, **kwargs: around(inner, self, *args, **kwargs))
        outer._ringrt = True  # type: ignore[attr-defined]
        setattr(owner, name, outer)


def _init(init: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    """Trainer(devices=4, num_nodes=1) names one size of many: the job step's tasks replace it."""
    for name, variable in (("devices", "PL_TRAINER_DEVICES"), ("num_nodes", "PL_TRAINER_NUM_NODES")):
        if name in kwargs and os.environ.get(variable, "").isdigit():
            kwargs[name] = int(os.environ[variable])
    # At one rank, Lightning would choose a strategy that never has more.
    if live.is_asked() and kwargs.get("accelerator") == "cpu" and kwargs.get("strategy", "auto") == "auto" \
            and "PL_TRAINER_STRATEGY" not in os.environ:
        kwargs["strategy"] = "ddp"
    init(self, *args, **kwargs)


def _fit(fit: Any, self: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        bound = inspect.signature(fit).bind(self, model, *args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        run = _open(given)
    except Exception as error:
        run = None
        warn(error)
        end_extension()
    if run is None:
        return fit(self, model, *args, **kwargs)
    if run.course.directory:
        given["ckpt_path"] = os.path.join(run.course.directory, FILE)
        if "weights_only" in given:
            given["weights_only"] = False  # the job's own file, checked by its hash
    return run.fit(lambda: fit(**given))


def _open(given: "dict[str, Any]") -> "Optional[Fit]":
    global _used
    trainer, source = given["self"], given["train_dataloaders"]
    callback = next((one for one in trainer.callbacks if hasattr(one, "ringrt_fit")), None)
    if callback is None or _used:
        return None
    _check(trainer, given["model"])
    is_loader = source is not None and not hasattr(source, "train_dataloader")
    if is_loader:
        check_one_loader(source)
    kind = _kind(trainer, given["model"]) if live.is_asked() else Fit
    _take_signals()
    _used = True
    callback.ringrt_fit = run = kind(trainer, given["model"])
    if is_loader:
        given["train_dataloaders"] = run.attach(source)
    else:
        owner = next(one for one in (source, given["datamodule"], given["model"]) if one is not None)
        inner = owner.train_dataloader
        owner.train_dataloader = functools.wraps(inner)(lambda *args, **kwargs: run.attach(inner(*args, **kwargs)))
    return run if run.course.handle is not None else None


def _kind(trainer: Any, model: Any) -> "type[Fit]":
    from . import lightning_live, lightning_parts

    why = lightning_parts.why_not(trainer, model)
    if why is None:
        return lightning_live.InPlace
    live.decline(why, trainer.is_global_zero)
    return Fit


def check_one_loader(source: Any) -> None:
    if not isinstance(source, DataLoader):
        raise Declined(f"the training's data is a {type(source).__name__}, not one DataLoader")


def _check(trainer: Any, model: Any) -> None:
    if type(trainer.strategy).__name__ not in ("SingleDeviceStrategy", "DDPStrategy"):
        raise Declined(f"{type(trainer.strategy).__name__} does not keep the whole state on each rank")
    if not model.automatic_optimization:
        raise Declined("automatic_optimization is off: only the module defines when a step ends")
    if trainer.fast_dev_run or trainer.overfit_batches:
        raise Declined("fast_dev_run and overfit_batches are not trainings to continue")
    if isinstance(trainer.limit_train_batches, float) and trainer.limit_train_batches != 1.0:
        raise Declined("limit_train_batches is a fraction, which is not a whole number of steps at every size")
    if any(type(one).__name__ == "GradientAccumulationScheduler" for one in trainer.callbacks):
        raise Declined("the accumulation changes by epochs (GradientAccumulationScheduler)")
    ranks = ranks_from_environment().get("size", 1)
    if trainer.world_size != ranks:
        raise Declined(f"Lightning has {trainer.world_size} ranks, the job step has {ranks}")


def _take_signals() -> None:
    """Lightning saves inside its handler of the requeue signal, between any two instructions, without agreement on
    a step. It installs no handler if there is one. So this one asks for a save and a requeue at the next
    boundary."""
    asked = int(os.environ.get("RINGRT_SIGNAL", signal.SIGURG))
    for number in {signal.SIGUSR1, asked}:
        if signal.getsignal(number) in (None, signal.SIG_DFL):
            # libringrt installs its own handler of RINGRT_SIGNAL later, below Python's.
            signal.signal(number, lambda number, _: None if number == asked else os.kill(os.getpid(), asked))


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


def _callback(pl: Any) -> Any:
    """Makes the class here, because Callback is from either package."""

    class Malleable(pl.Callback):
        ringrt_fit: Optional[Fit] = None

        def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: "dict[str, Any]") -> None:
            if self.ringrt_fit:
                self.ringrt_fit.place(checkpoint)

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            if self.ringrt_fit:
                self.ringrt_fit.begin_batch(batch_idx)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if self.ringrt_fit:
                self.ringrt_fit.course.finish()

    return Malleable()
