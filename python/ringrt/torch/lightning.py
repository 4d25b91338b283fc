# SPDX-License-Identifier: BSD-3-Clause
"""Lightning: makes an unmodified Trainer malleable. Lightning calls callbacks() for every Trainer (its entry point
callbacks_factory). Trainer.fit() opens the run and selects the checkpoint to continue from. The callback has
the step boundary, at the start of a step's first batch: by then, everything of the previous step is done,
including its validation and logging. lightning_fit.py has the run; lightning_live.py resizes it in place."""
from __future__ import annotations

import functools
import importlib
import inspect
import os
import signal
from types import ModuleType
from typing import Any, Optional

from ..handle import ranks_from_environment
from ..hooks import warn
from . import live
from .course import Declined, end_extension
from .lightning_fit import FILE, Fit, check_one_loader

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
