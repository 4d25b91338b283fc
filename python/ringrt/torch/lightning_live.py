# SPDX-License-Identifier: BSD-3-Clause
"""Lightning's Trainer resized in place (live.py, resized.py).

The Trainer counts the batches of the most ranks. It sees the first micro-batch of a rank's share of each; the closure
that it gives to the optimizer runs them all. The boundary is before the first batch of an update. If a rank is lost,
the closure repeats the update's batches, and a validation is repeated before its results are reported.

Lightning keeps its loops' positions in objects, not in variables. So an extension begins fit() like any training, in
its own process group, and joins before its first batch: it takes the base's checkpoint, made in memory, and is then
where the base is. If it loses its place, it drops the batch or validation under way and joins again."""
from __future__ import annotations

import copy
import os
from typing import Any, Callable

import torch
from torch.nn.parallel import DistributedDataParallel

from ..handle import ranks_from_environment
from . import live
from .accumulate import act_at_end
from .course import Course
from .lightning_fit import FILE, Fit, order_of
from .lightning_parts import (Batches, Closure, Scheduling, State, follow_ranks, step_after_closure, take_sigterm,
                              why_no_callback)
from .resized import JoinAgain, Resized
from .shares import Share, Shares

class _Again(Exception):
    """A rank was lost in the validation."""


class InPlace(Resized, Fit):
    """One fit() that is resized in place."""

    def __init__(self, trainer: Any, model: Any) -> None:
        self._prepare()
        self._state, self.loop = State(self), trainer.fit_loop.epoch_loop
        self.outside = live.is_extension()  # has not joined, or has lost its place
        self.over = False  # no step is left
        self.validated = False  # since the last step, by this rank
        self.scheduled = 0  # schedulers' steps that another rank's state contains
        self._update: "list[int]" = []  # the present update's batches
        super().__init__(trainer, model)
        self._own = self.course.rank, self.course.size
        follow_ranks(trainer.strategy, self)
        val_loop, fit_loop = self.loop.val_loop, trainer.fit_loop
        self._replaced = [
            (self.loop, "advance", self._advance), (self.loop, "on_advance_end", self._on_advance_end),
            (self.loop.automatic_optimization, "_make_closure", self._make_closure), (val_loop, "run", self._validate),
            (val_loop, "on_run_end", self._validation_ends), (fit_loop, "on_run_end", self._training_ends)]
        self._inner = {ours: getattr(owner, name) for owner, name, ours in self._replaced}
        for owner, name, ours in self._replaced:
            setattr(owner, name, ours)

    def _make_course(self) -> Course:
        return Course("Lightning", self._save, ranks_from_environment(),
                      lambda handle: self._make_live(handle, self.model))

    def _save(self, directory: str) -> None:
        """As save_checkpoint(), but without its collectives: the ranks are in one already."""
        self.trainer.strategy.save_checkpoint(self.trainer._checkpoint_connector.dump_checkpoint(),
                                              os.path.join(directory, FILE))

    def _take_away(self) -> None:
        for owner, name, _ in self._replaced:
            owner.__dict__.pop(name, None)

    def global_step(self) -> int:
        return self.trainer.global_step

    def done_since(self) -> int:
        return int(self.validated)

    def adopt(self, rank: int, size: int) -> None:
        self.course.rank, self.course.size = rank, size
        self.trainer.strategy.set_world_ranks()
        self.loop.val_loop._combined_loader = None  # it is of the ranks before
        if self.course.plan is not None:
            self._shares.forget()

    # ---- fit() -----------------------------------------------------------------------------------

    def fit(self, inner: "Callable[[], Any]") -> Any:
        result = self.guarded(inner)
        self._finish()  # there was no step to do
        return result

    def attach(self, loader: Any) -> Any:
        batches = self.batches_of(loader)
        if batches is None:
            self._take_away()
            return loader
        order_of(loader, batches)
        self._shares = Shares(self.course, loader, batches.sampler)
        return Batches(self, loader.dataset)

    def _finish(self) -> None:
        if self.course.handle is None:
            return
        self.live.finish()  # ends an extension
        self.course.handle = None
        self.adopt(*self._own)
        self._take_away()

    def _training_ends(self) -> None:
        if self.began:
            self._note(over=True)
            try:
                self.live.pass_boundary()
            except JoinAgain:
                self.live._end("the training is over", 0)
        self._finish()
        self._inner[self._training_ends]()  # also what only the base does

    # ---- the boundary ----------------------------------------------------------------------------

    def _advance(self, fetcher: Any) -> None:
        try:
            self._before_batch(fetcher)
            self._inner[self._advance](fetcher)
        except JoinAgain:
            self._join(fetcher)

    def _on_advance_end(self, fetcher: Any) -> None:
        try:
            self._inner[self._on_advance_end](fetcher)
        except JoinAgain:  # of the validation
            self.trainer.training = True
            self._join(fetcher)

    def _before_batch(self, fetcher: Any) -> None:
        if not self.began:
            self._begin_live()
            if self.live.extension:
                self._join(fetcher)
        if self.loop.batch_progress.current.ready % self.every == 0:
            self._note()
            self.live.pass_boundary()
            self.validated, self.scheduled = False, 0

    def _note(self, over: bool = False) -> None:
        self.over = over
        self.note_steps()
        self.course.note(self.steps_done, self.trainer.current_epoch,
                         0 if over else self.loop.batch_progress.current.ready)

    def _begin_live(self) -> None:
        trainer = self.trainer
        ddp, opt = trainer.strategy.model, trainer.optimizers[0]
        why = live.why_not(self.model, [ddp] if isinstance(ddp, DistributedDataParallel) else [], {})
        why = why or why_no_callback(trainer)  # the module may have added some
        if isinstance(opt, torch.optim.LBFGS):
            why = "LBFGS calls its closure several times"
        if why is not None:
            raise ValueError(f"this training cannot be resized in place: {why}")
        self._ddp.append(ddp)
        self._opts.append(opt)
        step_after_closure(opt, self)
        for config in trainer.lr_scheduler_configs:
            act_at_end(config.scheduler, ["step"], Scheduling(self))  # type: ignore[arg-type]
        take_sigterm(trainer, self.live.extension)
        self.began, self.steps_done, self.passed = True, self.global_step(), True
        self.live.begin()

    def _join(self, fetcher: Any) -> None:
        trainer = self.trainer
        self.outside = True
        trainer._logger_connector.reset_results()
        self.live.await_base()  # which fills the state
        self.outside, self.scheduled = False, 0
        self.live._form()
        if self.over:
            self._finish()
        self.passed = True
        fetcher.fetched, fetcher.done = self.loop.batch_progress.current.ready, False

    def begin_batch(self, index: int) -> None:
        if self.course.handle is not None:
            self._begin()

    # ---- batches ---------------------------------------------------------------------------------

    def next_batch(self) -> Any:
        index = self.loop.batch_progress.current.ready
        if index >= self.plan.steps:
            raise StopIteration
        if index % self.every == 0:
            self._update = []
        self._update.append(index)
        self._share = self._shares.get(self.trainer.current_epoch, index)
        return self._share.parts[0][1]

    def _make_closure(self, kwargs: Any, optimizer: Any, index: int) -> Any:
        return Closure(lambda: self._run_batch(kwargs, optimizer))

    def _run_batch(self, kwargs: Any, optimizer: Any) -> Any:
        result = self._run(self._share, kwargs, optimizer, is_again=False)
        if self.loop._should_accumulate():
            return result
        result = self.repeat_if_lost(result, lambda: self._update_again(kwargs, optimizer))
        if not self.completes:  # nothing updates; for hooks that read gradients
            for parameter in self.model.parameters():
                parameter.grad = torch.zeros_like(parameter) if parameter.requires_grad else None
        return result

    def _update_again(self, kwargs: Any, optimizer: Any) -> Any:
        for index in self._update:
            share = self._shares.get(self.trainer.current_epoch, index)
            result = self._run(share, kwargs, optimizer, is_again=True)
        return result

    def _run(self, share: Share, kwargs: Any, optimizer: Any, is_again: bool) -> Any:
        """One batch's share: `kwargs` has the first micro-batch, unless it is done again."""
        trainer, kwargs, total = self.trainer, copy.copy(kwargs), None
        if "batch_idx" in kwargs:
            kwargs["batch_idx"] = share.index
        exchanges = share.index == self._update[-1] and not self.loop._should_accumulate()
        for number, (micro, batch) in enumerate(share.parts):
            if number or is_again:
                kwargs["batch"] = self._moved(batch)
                trainer._results.batch, trainer._results.batch_size = kwargs["batch"], None
            scale = self.course.begin_micro(trainer.current_epoch, micro, True)
            self._ddp[0].require_backward_grad_sync = exchanges and micro.last
            closure = self._inner[self._make_closure](kwargs, optimizer, share.index)
            if number or is_again:  # the gradients are those of this update, or None
                closure._zero_grad_fn = None
            closure()
            result = closure.consume_result()
            if result.loss is not None:
                total = scale * result.loss if total is None else total + scale * result.loss
        result.loss = total
        return result

    def _moved(self, batch: Any) -> Any:
        trainer = self.trainer
        batch = trainer.precision_plugin.convert_input(batch)
        batch = trainer.lightning_module._on_before_batch_transfer(batch, dataloader_idx=0)
        return trainer.strategy.batch_to_device(batch, dataloader_idx=0)

    # ---- validation ------------------------------------------------------------------------------

    def _validate(self) -> Any:
        loop = self.loop.val_loop
        if not self.began:
            return self._inner[self._validate]()
        self.note_steps()
        counts = copy.deepcopy(loop.batch_progress.state_dict())
        while True:
            self.validated = False
            try:
                return self._inner[self._validate]()
            except (_Again, JoinAgain) as lost:
                loop._on_evaluation_model_train()
                self.trainer._logger_connector.reset_results()
                loop.batch_progress.load_state_dict(counts)
                if isinstance(lost, JoinAgain):
                    raise

    def _validation_ends(self) -> Any:
        """Before the results are reported, all ranks agree that they have them."""
        if self.began and not self._all_validated():
            raise _Again
        return self._inner[self._validation_ends]()

    def _all_validated(self) -> bool:
        step = self._position.step
        self.live.world.drain()
        self.validated = not step.is_lost
        if self.validated:
            torch.distributed.barrier()
        if not step.is_lost:
            return True
        self.live.settle()
        self.validated = min(self.live.states) >= (self.steps_done, 1)
        return self.validated
