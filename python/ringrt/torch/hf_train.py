# SPDX-License-Identifier: BSD-3-Clause
"""The Hugging Face Trainer: one train() that can be resized, by a requeue. hf_trainer.py opens it."""
from __future__ import annotations

import os
from types import ModuleType
from typing import Any, Callable, Optional

import torch

from ..handle import ranks_from_environment
from .course import Batches, Course, Declined

STATE_FILE = "trainer_state.json"


class Train:
    """One train() that can be resized."""

    methods: "tuple[str, ...]" = ("get_train_dataloader", "training_step")  # of the Trainer, replaced by ours

    def __init__(self, trainer: Any, module: ModuleType) -> None:
        self.trainer, self._module = trainer, module
        self._every = trainer.args.gradient_accumulation_steps
        self._index = 0  # of the next micro-batch in the epoch
        self.course = self._make_course()
        self._inner = {name: getattr(trainer, name) for name in self.methods}
        for name in self.methods:
            setattr(trainer, name, getattr(self, "_" + name.lstrip("_")))

    def _make_course(self) -> Course:
        course = Course("transformers", self._save, ranks_from_environment())
        self.trainer.add_callback(_callback(self._module.TrainerCallback, self))
        return course

    def train(self, inner: "Callable[[Optional[str]], Any]") -> Any:
        """`inner`: the Trainer's own train(), from a checkpoint's directory."""
        try:
            return inner(self.course.directory)
        finally:
            self.course.finish()
            self._take_away()

    def _take_away(self) -> None:
        for name in self._inner:
            self.trainer.__dict__.pop(name, None)
        self.trainer.args.gradient_accumulation_steps = self._every

    def _attach(self, loader: Any) -> "tuple[Any, Batches]":
        """The loader inside accelerate's, and what replaces its batch sampler."""
        if type(loader).__name__ == "DataLoaderDispatcher":
            raise Declined("rank 0 reads the data for all ranks (dispatch_batches)")
        base = getattr(loader, "base_dataloader", loader)
        return base, self.course.attach(base, self.trainer.model, self._every)

    def _get_train_dataloader(self) -> Any:
        loader, course, trainer = self._inner["get_train_dataloader"](), self.course, self.trainer
        try:
            base, batches = self._attach(loader)
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
        course = self.course
        if course.plan is not None:
            counted = args[0] if args else kwargs.get("num_items_in_batch")
            course.begin(self._epoch(), self._index, self._is_mean(counted))
            self._index += 1
        return self._inner["training_step"](model, inputs, *args, **kwargs)

    def _is_mean(self, counted: Any) -> bool:
        """Whether the Trainer divides the loss by its number of micro-batches. `counted`: num_items_in_batch."""
        trainer = self.trainer
        weighed = getattr(trainer, "loss_is_scaled_for_ga", None)
        if weighed is None:
            weighed = counted is not None and trainer.model_accepts_loss_kwargs or bool(trainer.compute_loss_func)
        return not weighed

    def _save(self, directory: str) -> None:
        """Writes a checkpoint like the Trainer's own, without its rotation and its hub."""
        trainer = self.trainer
        trainer.save_model(directory, _internal_call=True)
        if not trainer.args.should_save:
            return
        torch.save(trainer.optimizer.state_dict(), os.path.join(directory, "optimizer.pt"))
        torch.save(trainer.lr_scheduler.state_dict(), os.path.join(directory, "scheduler.pt"))
        scaler = getattr(trainer.accelerator, "scaler", None)
        if scaler is not None:
            torch.save(scaler.state_dict(), os.path.join(directory, "scaler.pt"))
        self._note_callbacks()
        trainer.state.save_to_json(os.path.join(directory, STATE_FILE))

    def _note_callbacks(self) -> None:
        """Updates the callbacks' part of the Trainer's state."""
        trainer = self.trainer
        for one in [*trainer.callback_handler.callbacks, trainer.control]:
            if type(one).__name__ in trainer.state.stateful_callbacks and hasattr(one, "state"):
                trainer.state.stateful_callbacks[type(one).__name__] = one.state()


def _callback(base: Any, run: Train) -> Any:
    class Malleable(base):
        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            run.begin_step(args, state)

    return Malleable()
