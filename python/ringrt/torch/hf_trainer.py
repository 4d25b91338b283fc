# SPDX-License-Identifier: BSD-3-Clause
"""The Hugging Face Trainer: makes train() of an unmodified script malleable. There is no entry point, so train()
is wrapped after the import of transformers.trainer. Inside it, only the Trainer's own methods and a callback
are used. The step boundary is on_step_begin: by then, everything of the previous step is done, including its
evaluation, logging and saving."""
from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any, Optional

import torch

from ..handle import ranks_from_environment
from ..hooks import warn
from .course import Course, Declined

_used = False  # only the first train() of a program is malleable


def adapt(module: ModuleType) -> None:
    train = module.Trainer.train
    if hasattr(train, "_ringrt"):
        return

    @functools.wraps(train)
    def malleable_train(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        run: Optional[_Train] = None
        try:
            run = _open(self, module)
        except Exception as error:
            warn(error)
        if run is None:
            return train(self, resume_from_checkpoint, *args, **kwargs)
        try:
            return train(self, run.course.folder or resume_from_checkpoint, *args, **kwargs)
        finally:
            run.take_away()

    malleable_train._ringrt = True  # type: ignore[attr-defined]
    module.Trainer.train = malleable_train


def _open(trainer: Any, module: ModuleType) -> "Optional[_Train]":
    global _used
    if _used:
        return None
    args = trainer.args
    for name in ("deepspeed", "fsdp", "auto_find_batch_size", "ignore_data_skip", "group_by_length"):
        if getattr(args, name, None):
            raise Declined(f"TrainingArguments has {name}")
    if args.n_gpu > 1:
        raise Declined("one process drives several GPUs")
    ranks = ranks_from_environment().get("size", 1)
    if args.world_size != ranks:
        raise Declined(f"the Trainer has {args.world_size} ranks, the job step has {ranks}")
    _used = True
    return _Train(trainer, module)


class _Train:
    """One train() that can be resized."""

    def __init__(self, trainer: Any, module: ModuleType) -> None:
        self.trainer = trainer
        self._every = trainer.args.gradient_accumulation_steps
        self._index = 0  # of the next micro-batch in the epoch
        self.course = Course("transformers", self._save, ranks_from_environment())
        self._inner = {name: getattr(trainer, name) for name in ("get_train_dataloader", "training_step")}
        trainer.get_train_dataloader = self._get_train_dataloader
        trainer.training_step = self._training_step
        trainer.add_callback(_callback(module.TrainerCallback, self))

    def take_away(self) -> None:
        self.course.finish()
        for name in self._inner:
            self.trainer.__dict__.pop(name, None)
        self.trainer.args.gradient_accumulation_steps = self._every

    def _get_train_dataloader(self) -> Any:
        loader, course, trainer = self._inner["get_train_dataloader"](), self.course, self.trainer
        try:
            if type(loader).__name__ == "DataLoaderDispatcher":
                raise Declined("rank 0 reads the data for all ranks (dispatch_batches)")
            base = getattr(loader, "base_dataloader", loader)  # the loader inside accelerate's
            batches = course.attach(base, trainer.model, self._every)
        except Exception as error:
            course.close(error)
            return loader
        batches.epoch, batches.skips = self._epoch, False  # the Trainer itself skips finished batches
        base.__dict__["batch_sampler"] = batches  # DataLoader forbids setting this attribute
        trainer.args.gradient_accumulation_steps = self._every * course.accumulate
        return loader

    # The Trainer's position is its global_step, at every size: the batch of a step does not change.
    def _steps_per_epoch(self) -> int:
        assert self.course.plan is not None
        return -(-self.course.plan.steps // self._every)

    def _epoch(self) -> int:
        return self.trainer.state.global_step // self._steps_per_epoch()

    def begin_step(self, args: Any, state: Any) -> None:
        course = self.course
        if course.handle is None or course.plan is None:
            return
        self._index = state.global_step % self._steps_per_epoch() * args.gradient_accumulation_steps
        course.steps_left(state.max_steps - state.global_step)
        course.boundary(state.global_step, self._epoch(), self._index)

    def _training_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        course, trainer = self.course, self.trainer
        if course.plan is not None:
            counted = args[0] if args else kwargs.get("num_items_in_batch")
            weighed = getattr(trainer, "loss_is_scaled_for_ga", None)
            if weighed is None:
                weighed = counted is not None and trainer.model_accepts_loss_kwargs or bool(trainer.compute_loss_func)
            course.begin(self._epoch(), self._index, is_mean=not weighed)
            self._index += 1
        return self._inner["training_step"](model, inputs, *args, **kwargs)

    def _save(self, folder: str) -> None:
        """Writes a checkpoint like the Trainer's own, without its rotation and its hub."""
        trainer = self.trainer
        trainer.save_model(folder, _internal_call=True)
        if not trainer.args.should_save:
            return
        torch.save(trainer.optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
        torch.save(trainer.lr_scheduler.state_dict(), os.path.join(folder, "scheduler.pt"))
        scaler = getattr(trainer.accelerator, "scaler", None)
        if scaler is not None:
            torch.save(scaler.state_dict(), os.path.join(folder, "scaler.pt"))
        for one in [*trainer.callback_handler.callbacks, trainer.control]:
            if type(one).__name__ in trainer.state.stateful_callbacks and hasattr(one, "state"):
                trainer.state.stateful_callbacks[type(one).__name__] = one.state()
        trainer.state.save_to_json(os.path.join(folder, "trainer_state.json"))


def _callback(base: Any, run: _Train) -> Any:
    class Malleable(base):
        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            run.begin_step(args, state)

    return Malleable()
