# SPDX-License-Identifier: BSD-3-Clause
"""The Hugging Face Trainer resized in place (live.py).

The Trainer counts the same batches at every number of ranks: those of the most ranks. For one of its batches a
rank gets a Share, all of its micro-batches of that step. So its loop, which nothing can set back, never sees a
resize. The boundary is where the Trainer fetches an update's batches. If a rank is lost, training_step() and
evaluation_loop() do their work again before they return to the Trainer.

An extension joins before its train(), which then begins like a resumed one, from the base's state in memory. If it
loses its place, train() begins again."""
from __future__ import annotations

import dataclasses
import itertools
import json
import os
import tempfile
from types import ModuleType
from typing import Any, Callable, Iterator, Optional

import torch
from torch.nn.parallel import DistributedDataParallel

from ..handle import ranks_from_environment
from . import live
from .accumulate import act_at_end, step_at_end
from .course import Course
from .hf_train import STATE_FILE, Train
from .resized import JoinAgain, Resized
from .shares import Share, Shares, Steps

_LOGGED = ("_tr_loss", "_total_loss_scalar", "_globalstep_last_logged")  # the Trainer's sums for its logs


def why_not(trainer: Any, module: ModuleType) -> Optional[str]:
    """Why this training is resized only by requeue, or None."""
    args = trainer.args
    for name in ("torch_compile", "parallelism_config", "neftune_noise_alpha", "use_legacy_prediction_loop"):
        if getattr(args, name, None):
            return f"TrainingArguments has {name}"
    if getattr(args, "include_num_input_tokens_seen", "no") not in ("no", False):
        return "TrainingArguments has include_num_input_tokens_seen"
    if trainer.model_init is not None:
        return "the Trainer makes its model in train() (model_init)"
    if (trainer.model_accepts_loss_kwargs or trainer.compute_loss_func) and not args.average_tokens_across_devices:
        return "TrainingArguments has average_tokens_across_devices=False"
    if not hasattr(module, "skip_first_batches") or not hasattr(trainer, "get_batch_samples"):
        return "this version of transformers has another loop"
    return live.why_not(trainer.model, None, {})


class _State:
    """The state that ranks send each other (packed.py)."""

    def __init__(self, run: "InPlace") -> None:
        self._run = run

    def content(self) -> "dict[str, Any]":
        run, trainer = self._run, self._run.trainer
        run._note_callbacks()
        return {"steps": run.steps_done, "passed": run.passed, "evaluated": run.evaluated,
                "position": run.course.position(), "loader_seed": run.loader_seed,
                "model": trainer.model.state_dict(), "opt": run.opt.state_dict(),
                "sched": trainer.lr_scheduler.state_dict(), "trainer": dataclasses.asdict(trainer.state),
                "logged": {name: getattr(trainer, name) for name in _LOGGED if hasattr(trainer, name)}}

    def fill(self, content: "dict[str, Any]") -> None:
        run = self._run
        if not run.began:  # of an extension: train() has yet to make the objects
            run.joined = content
            return
        if content["steps"] != run.steps_done:
            run.trainer.model.load_state_dict(content["model"])
            run.opt.load_state_dict(content["opt"])
            run.trainer.lr_scheduler.load_state_dict(content["sched"])
            run.steps_done = content["steps"]
        run.passed, run.evaluated = content["passed"], content["evaluated"]


class InPlace(Resized, Train):
    """One train() that is resized in place."""

    methods: "tuple[str, ...]" = (
        "get_train_dataloader", "get_batch_samples", "training_step", "floating_point_ops", "get_eval_dataloader",
        "get_test_dataloader", "evaluation_loop")

    def __init__(self, trainer: Any, module: ModuleType) -> None:
        self._prepare()
        self._state = _State(self)
        self.evaluated: "list[Any]" = []  # what evaluation_loop() returned since that step
        self._asked = 0  # how often the Trainer has called it
        self._loader_again: "Callable[[], Any]" = lambda: None  # makes the latest loader for it, for the present ranks
        self.joined: "Optional[dict[str, Any]]" = None
        self._own = trainer.args.process_index, trainer.args.world_size
        if live.is_extension():
            trainer.args.eval_on_start = False
            trainer.args.restore_callback_states_from_checkpoint = True
            self.methods += ("_load_from_checkpoint", "_load_optimizer_and_scheduler")
        super().__init__(trainer, module)
        self._inner["prepare_model"], trainer.accelerator.prepare_model = (trainer.accelerator.prepare_model,
                                                                           self._prepare_model)
        loops: Any = module
        skip = loops.skip_first_batches
        self._inner["skip_first_batches"] = skip
        loops.skip_first_batches = lambda loader, count=0: (
            loader.after(count) if isinstance(loader, Steps) else skip(loader, count))

    def _make_course(self) -> Course:
        return Course("transformers", self._save, ranks_from_environment(),
                      lambda handle: self._make_live(handle, self.trainer.model))

    def global_step(self) -> int:
        return self.trainer.state.global_step

    def done_since(self) -> int:
        return len(self.evaluated)

    def adopt(self, rank: int, size: int) -> None:
        from accelerate.state import AcceleratorState, PartialState
        trainer, self.course.rank, self.course.size = self.trainer, rank, size
        for state in (PartialState, AcceleratorState):
            state._shared_state.update(process_index=rank, num_processes=size)
        trainer.state.is_world_process_zero = rank == 0
        trainer.__dict__.pop("_eval_dataloaders", None)  # they are of the ranks before
        if self.course.plan is not None:
            self._shares.forget()

    # ---- train() ---------------------------------------------------------------------------------

    def train(self, inner: "Callable[[Optional[str]], Any]") -> Any:
        result = self.guarded(lambda: self._train(inner))
        if self.course.handle is not None:
            self.live.finish()  # ends an extension
            self.adopt(*self._own)
            self._take_away()
        return result

    def _train(self, inner: "Callable[[Optional[str]], Any]") -> Any:
        if self.live.extension:
            return self._train_joined(inner)
        result = inner(self.course.directory)
        self._pass_last()
        return result

    def _pass_last(self) -> None:
        if self.began and self.course.handle is not None:
            self.note_steps()
            self.live.pass_boundary()

    def _train_joined(self, inner: "Callable[[Optional[str]], Any]") -> Any:
        while True:
            self.began, self.steps_done, self.passed = False, 0, False
            self.live.await_base()
            with tempfile.TemporaryDirectory(prefix="ringrt-") as directory:
                try:
                    self._take_joined(directory)
                    result = inner(directory)
                    self._pass_last()
                    return result
                except JoinAgain:
                    continue

    def _take_joined(self, directory: str) -> None:
        assert self.joined is not None
        self.course.take(self.joined["position"])
        with open(os.path.join(directory, STATE_FILE), "w", encoding="utf-8") as file:
            json.dump(self.joined["trainer"], file)
        self.live._form()

    def _load_from_checkpoint(self, _directory: str, _model: Any = None) -> None:
        assert self.joined is not None
        self.trainer.model.load_state_dict(self.joined["model"])

    def _load_optimizer_and_scheduler(self, _directory: str) -> None:
        assert self.joined is not None
        optimizer = self.trainer.optimizer
        getattr(optimizer, "optimizer", optimizer).load_state_dict(self.joined["opt"])
        self.trainer.lr_scheduler.load_state_dict(self.joined["sched"])

    def _take_away(self) -> None:
        self.trainer.accelerator.__dict__.pop("prepare_model", None)
        self._module.skip_first_batches = self._inner["skip_first_batches"]  # type: ignore[attr-defined]
        super()._take_away()

    # ---- what the Trainer calls ------------------------------------------------------------------

    def _get_train_dataloader(self) -> Any:
        # accelerate takes the epochs' orders from the generator's seed at this moment.
        self.loader_seed = torch.initial_seed() if self.joined is None else self.joined["loader_seed"]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.loader_seed)
            loader = self._inner["get_train_dataloader"]()
        try:
            base, batches = self._attach(loader)
        except Exception as error:
            self.course.close(error)
            self._take_away()
            return loader
        self._shares = Shares(self.course, base, batches.sampler)
        return Steps(self.plan, base.dataset)

    def _prepare_model(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes a DistributedDataParallel at one rank, too."""
        evaluates = kwargs.pop("evaluation_mode", False)
        model = self._inner["prepare_model"](model, *args, evaluation_mode=True, **kwargs)
        if evaluates:
            return model
        handler = self.trainer.accelerator.ddp_handler
        options = handler.to_kwargs() if handler is not None else {}
        ddp = DistributedDataParallel(model, init_sync=not self.live.extension, **options)
        why = live.why_not(model, [ddp], {})
        if why is not None:
            raise ValueError(why)
        self._ddp.append(ddp)
        return ddp

    def _begin(self) -> None:
        trainer = self.trainer
        opt = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
        if opt not in self._opts:
            self._opts.append(opt)
            step_at_end(opt, self)  # type: ignore[arg-type]
        act_at_end(trainer.lr_scheduler, ["step"], self)  # type: ignore[arg-type]
        self.began = self.passed = True
        if self.joined is not None:
            for name, value in self.joined["logged"].items():
                setattr(trainer, name, value)
            self.joined = None
        self.live.begin()

    def _get_batch_samples(self, numbers: Iterator[int], count: int, device: Any) -> "tuple[list[Share], Any]":
        self._update = list(itertools.islice(numbers, count))
        if not self._update:
            return [], None
        state, self._device = self.trainer.state, device
        self.note_steps()
        self.course.note(state.global_step, self._epoch(), self._update[0])
        self.course.steps_left(state.max_steps - state.global_step)
        if self.began:
            self.live.pass_boundary()
        else:
            self._begin()
        self.evaluated, self._asked = [], 0
        return self._fetch()

    def _fetch(self) -> "tuple[list[Share], Any]":
        shares = [self._shares.get(self._epoch(), index) for index in self._update]
        batches = [batch for share in shares for _, batch in share.parts]
        counted = self._inner["get_batch_samples"](iter(batches), len(batches), self._device)[1]
        return shares, counted

    def _training_step(self, model: Any, inputs: Share, num_items_in_batch: Any = None, *args: Any) -> Any:
        loss = self._run(model, inputs, num_items_in_batch)
        if inputs.index != self._update[-1]:
            return loss
        return self.repeat_if_lost(loss, lambda: self._update_again(model))

    def _update_again(self, model: Any) -> Any:
        shares, counted = self._fetch()
        for share in shares:
            loss = self._run(model, share, counted)
        return loss

    def _run(self, model: Any, share: Share, counted: Any) -> Any:
        loss: Any = 0.0
        for micro, batch in share.parts:
            scale = self.course.begin_micro(self._epoch(), micro, self._is_mean(counted))
            for ddp in self._ddp:
                ddp.require_backward_grad_sync = micro.last and share.index == self._update[-1]
            loss = loss + scale * self._inner["training_step"](model, batch, counted)
        return loss

    def _floating_point_ops(self, inputs: Any) -> Any:
        return sum(self._inner["floating_point_ops"](batch) for _, batch in inputs.parts)

    def _get_eval_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        self._loader_again = lambda: self._inner["get_eval_dataloader"](*args, **kwargs)
        return self._loader_again()

    def _get_test_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        self._loader_again = lambda: self._inner["get_test_dataloader"](*args, **kwargs)
        return self._loader_again()

    def _evaluation_loop(self, loader: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.began:
            return self._inner["evaluation_loop"](loader, *args, **kwargs)
        self.note_steps()
        number = self._asked
        self._asked += 1
        while number >= len(self.evaluated):
            output = self._inner["evaluation_loop"](loader, *args, **kwargs)
            self.live.world.drain()
            if not self._position.step.is_lost:
                self.evaluated.append(output)
                break
            self.live.settle()
            loader = self._loader_again()
        return self.evaluated[number]
