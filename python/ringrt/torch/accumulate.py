# SPDX-License-Identifier: BSD-3-Clause
"""Gradient accumulation in a loop that does not know of it: while a step's micro-batches are not all
done, the objects' own step() and zero_grad() do nothing, and DistributedDataParallel does not
exchange gradients."""
from __future__ import annotations

import types
from typing import Any, Callable, Iterable

import torch
from torch.nn.parallel import DistributedDataParallel

from .step_stage import Event, Stage, Step


class Position:
    """Where the loop is; the patched functions look here."""

    def __init__(self) -> None:
        self.in_batch = False  # the loop's body has a micro-batch
        self.number = 0  # of it, counted up
        self.first = True  # it is the first of its step
        self.last = True  # … the last
        self.step = Step()  # the one that it belongs to

    @property
    def acts(self) -> bool:
        """An update belongs here: at the end of a step, or outside the loop."""
        return not self.in_batch or self.last

    @property
    def completes(self) -> bool:
        """What follows an update belongs here."""
        return self.acts and self.step.stage is not Stage.VOID


def replace_method(target: Any, name: str, function: Callable[..., Any]) -> None:
    """function(target, …) in the place of target.name. (A bound method: schedulers take it apart.)"""
    before = getattr(target, name)
    if hasattr(before, "_wrapped_by_lr_sched"):  # else the scheduler warns that it is gone
        function._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    setattr(target, name, types.MethodType(function, target))


def accumulate_optimizer(opt: torch.optim.Optimizer, position: Position) -> None:
    step, zero_grad = opt.step, opt.zero_grad
    stepped_in = -1  # the micro-batch of the last step()

    def accumulated_step(_self, closure=None):
        nonlocal stepped_in
        stepped_in = position.number
        if position.acts and not position.step.is_lost:
            position.step.note(Event.UPDATE)
            outcome = step(closure) if closure is not None else step()
            if closure is not None and position.step.is_lost:
                position.step.note(Event.LEFT_OUT)
            return outcome
        if position.acts:
            position.step.note(Event.LEFT_OUT)
        elif closure is not None:  # it makes the gradients
            with torch.enable_grad():
                return closure()
        _self._opt_called = True  # for the scheduler: its own step() does nothing either
        return None

    # Before the backward pass of a step's first micro-batch, or after the step.
    def accumulated_zero_grad(_self, set_to_none=True):
        if not position.in_batch or (position.last if stepped_in == position.number else position.first):
            zero_grad(set_to_none)

    replace_method(opt, "step", accumulated_step)
    replace_method(opt, "zero_grad", accumulated_zero_grad)


def accumulate_model(model: torch.nn.Module, position: Position) -> None:
    zero_grad = model.zero_grad

    def accumulated_zero_grad(_self, set_to_none=True):
        if not position.in_batch or position.first:
            zero_grad(set_to_none)

    replace_method(model, "zero_grad", accumulated_zero_grad)


def act_at_end(target: Any, names: Iterable[str], position: Position) -> None:
    """A scheduler's or a GradScaler's methods, which do nothing before a step's last micro-batch. By a class of
    its own: a scheduler's state_dict() holds whatever is set on the object."""
    class_of = type(target)

    def at_end(name):
        def method(self, *args, **kwargs):
            return getattr(super(acting, self), name)(*args, **kwargs) if position.completes else None

        return method

    acting = type(class_of.__name__, (class_of,), {name: at_end(name) for name in names if hasattr(class_of, name)})
    target.__class__ = acting


def ddp_modules(model: torch.nn.Module) -> "list[DistributedDataParallel]":
    return [module for module in model.modules() if isinstance(module, DistributedDataParallel)]


class GradientScale:
    """Multiplies every gradient of a backward pass before it is added up; 1 costs nothing."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._hooks: "list[Any]" = []
        self._scale = 1.0

    def set(self, scale: float) -> None:
        self._scale = scale
        if scale == 1.0:
            for hook in self._hooks:
                hook.remove()
            self._hooks = []
        elif not self._hooks:
            self._hooks = [parameter.register_hook(lambda gradient: gradient * self._scale)
                           for parameter in self._model.parameters() if parameter.requires_grad]
