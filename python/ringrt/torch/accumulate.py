# SPDX-License-Identifier: BSD-3-Clause
"""Gradient accumulation in an unmodified loop: until a step's last micro-batch, step() and zero_grad() of the
program's objects do nothing, and DistributedDataParallel does not reduce gradients."""
from __future__ import annotations

import types
from typing import Any, Callable, Iterable

import torch
from torch.nn.parallel import DistributedDataParallel

from .step_stage import Event, Stage, Step


class Position:
    """The loop's position, which the patched functions read."""

    def __init__(self) -> None:
        self.in_batch = False  # the loop's body has a micro-batch
        self.number = 0  # its number, counted up
        self.first = True  # whether it is the first of its step
        self.last = True  # … the last
        self.step = Step()  # the step that it belongs to

    @property
    def acts(self) -> bool:
        """Whether an update takes place here: at the end of a step, or outside the loop."""
        return not self.in_batch or self.last

    @property
    def completes(self) -> bool:
        """Whether calls that follow an update take place here."""
        return self.acts and self.step.stage is not Stage.VOID


def replace_method(target: Any, name: str, function: Callable[..., Any]) -> None:
    """Replaces target.name by function(target, …), a bound method: schedulers unwrap it."""
    before = getattr(target, name)
    if hasattr(before, "_wrapped_by_lr_sched"):  # otherwise the scheduler warns that it is missing
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
        elif closure is not None:  # it computes the gradients
            with torch.enable_grad():
                return closure()
        _self._opt_called = True  # for the scheduler, whose step() does nothing either
        return None

    # Acts before the backward pass of a step's first micro-batch, or after the step.
    def accumulated_zero_grad(_self, set_to_none=True):
        if not position.in_batch or (position.last if stepped_in == position.number else position.first):
            zero_grad(set_to_none)

    replace_method(opt, "step", accumulated_step)
    replace_method(opt, "zero_grad", accumulated_zero_grad)


def step_at_end(opt: torch.optim.Optimizer, position: Position) -> None:
    """Makes step() of an optimizer do nothing before a step's last micro-batch. By the object's attribute, because
    schedulers have put theirs there, which would hide that of a subclass."""
    step = opt.step

    def acting_step(_self, *args, **kwargs):
        return step(*args, **kwargs) if position.completes else None

    replace_method(opt, "step", acting_step)


def accumulate_model(model: torch.nn.Module, position: Position) -> None:
    zero_grad = model.zero_grad

    def accumulated_zero_grad(_self, set_to_none=True):
        if not position.in_batch or position.first:
            zero_grad(set_to_none)

    replace_method(model, "zero_grad", accumulated_zero_grad)


def act_at_end(target: Any, names: Iterable[str], position: Position) -> None:
    """Makes methods of a scheduler or GradScaler do nothing before a step's last micro-batch. By a subclass,
    because a scheduler's state_dict() holds every attribute of the object."""
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
    """Multiplies every gradient of a backward pass before it is accumulated; 1 costs nothing."""

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
