# SPDX-License-Identifier: BSD-3-Clause
"""Lightning resized in place: which trainings can be, what the ranks send each other, and what takes the place of
Lightning's objects (lightning_live.py)."""
from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

import torch

from . import live
from .accumulate import replace_method

if TYPE_CHECKING:
    from .lightning_live import InPlace

_METRICS = ("_callback_metrics", "_logged_metrics", "_progress_bar_metrics")
# These callbacks change the optimizer or the loop, and an extension that joins later would not see it.
_CALLBACKS = {"StochasticWeightAveraging", "WeightAveraging", "BaseFinetuning", "ModelPruning", "BatchSizeFinder",
              "LearningRateFinder", "OnExceptionCheckpoint"}


def why_not(trainer: Any, model: torch.nn.Module) -> Optional[str]:
    """Why this training is resized only by requeue, or None. Initializes the process group."""
    strategy, loop = trainer.strategy, trainer.fit_loop.epoch_loop
    if type(strategy).__name__ != "DDPStrategy":
        return f"Lightning uses {type(strategy).__name__}, not DDPStrategy"
    if strategy.root_device.type != "cpu":
        return "model is not in ordinary memory"
    if not strategy.cluster_environment.creates_processes_externally:
        return "Lightning starts the ranks"
    if strategy._ddp_comm_hook or strategy._ddp_comm_state or \
            {"process_group", "mixed_precision"} & strategy._ddp_kwargs.keys():
        return "its DDPStrategy has its own process group, communication hook or mixed precision"
    if getattr(trainer.precision_plugin, "scaler", None) is not None:
        return "the precision has a GradScaler"
    if hasattr(model, "_orig_mod") or getattr(model, "_compiler_ctx", None):
        return "model is compiled"
    if trainer.reload_dataloaders_every_n_epochs:
        return "the Trainer has reload_dataloaders_every_n_epochs"
    if why_no_callback(trainer):
        return why_no_callback(trainer)
    if not _validates_between_updates(trainer):
        return "val_check_interval may validate in the middle of an accumulation, or by the clock"
    if not all(hasattr(*one) for one in ((loop.automatic_optimization, "_make_closure"), (loop, "on_advance_end"),
                                         (trainer._checkpoint_connector, "dump_checkpoint"))):
        return "this version of Lightning has another loop"
    strategy.setup_environment()
    return live.why_not(model, None, {})


def why_no_callback(trainer: Any) -> Optional[str]:
    for one in trainer.callbacks:
        for name in _CALLBACKS.intersection(base.__name__ for base in type(one).__mro__):
            return f"the Trainer has the callback {name}"
    return None


def _validates_between_updates(trainer: Any) -> bool:
    every, interval = trainer.accumulate_grad_batches, getattr(trainer, "val_check_interval", None)
    if interval is None:  # a time
        return False
    if isinstance(interval, int) and trainer.check_val_every_n_epoch is not None:
        return interval % every == 0
    return every == 1 or isinstance(interval, float) and interval == 1.0


class State:
    """The state that ranks send each other (packed.py): a checkpoint, and what Lightning does not save."""

    def __init__(self, run: "InPlace") -> None:
        self._run = run

    def content(self) -> "dict[str, Any]":
        run, trainer = self._run, self._run.trainer
        return {"steps": run.steps_done, "passed": run.passed, "over": run.over, "position": run.course.position(),
                "scheduled": run.loop.scheduler_progress.total.completed, "should_stop": trainer.should_stop,
                "checkpoint": trainer._checkpoint_connector.dump_checkpoint(),
                "metrics": {name: dict(getattr(trainer._logger_connector, name)) for name in _METRICS}}

    def fill(self, content: "dict[str, Any]") -> None:
        run = self._run
        if run.outside:
            run.course.take(content["position"])
            self._fill_all(content)
        elif content["steps"] != run.steps_done:
            self._fill_parts(content["checkpoint"])
        run.steps_done, run.passed, run.over = content["steps"], content["passed"], content["over"]
        run.scheduled = content["scheduled"]

    def _fill_all(self, content: "dict[str, Any]") -> None:
        trainer, checkpoint = self._run.trainer, content["checkpoint"]
        for one in trainer.checkpoint_callbacks:  # otherwise it drops the state of another directory
            state = checkpoint.get("callbacks", {}).get(one.state_key, {})
            if "dirpath" in state:
                one.dirpath = state["dirpath"]
        connector, loop = trainer._checkpoint_connector, trainer.fit_loop
        connector._loaded_checkpoint = checkpoint
        try:
            for part in ("model", "datamodule", "callbacks", "training_state"):
                getattr(connector, f"restore_{part}")()
        finally:
            connector._loaded_checkpoint = {}
        loop.restarting = False  # it goes on where the base is
        for one in (loop, loop.epoch_loop, loop.epoch_loop.val_loop):
            one._loaded_from_state_dict = one._resuming_from_checkpoint = False
        trainer.should_stop = content["should_stop"]
        for name, metrics in content["metrics"].items():
            setattr(trainer._logger_connector, name, metrics)

    def _fill_parts(self, checkpoint: "dict[str, Any]") -> None:
        trainer = self._run.trainer
        trainer.lightning_module.load_state_dict(checkpoint["state_dict"],
                                                 strict=trainer.lightning_module.strict_loading)
        self._run.opt.load_state_dict(checkpoint["optimizer_states"][0])
        for config, state in zip(trainer.lr_scheduler_configs, checkpoint["lr_schedulers"]):
            config.scheduler.load_state_dict(state)


class Batches:
    """What the Trainer takes for its DataLoader."""

    def __init__(self, run: "InPlace", dataset: Any) -> None:
        self._run, self.dataset = run, dataset

    def __len__(self) -> int:
        return self._run.plan.steps

    def __iter__(self) -> "Iterator[Any]":
        return self

    def __next__(self) -> Any:
        return self._run.next_batch()


class Closure:
    """What the Trainer takes for a batch's closure."""

    def __init__(self, run: "Callable[[], Any]") -> None:
        self._run = run
        self._result: Any = None

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        self._result = self._run()
        return self._result.loss

    def consume_result(self) -> Any:
        result, self._result = self._result, None
        return result


class Scheduling:
    """A scheduler's step() acts, unless another rank has sent its result."""

    def __init__(self, run: "InPlace") -> None:
        self._run = run

    @property
    def completes(self) -> bool:
        return self._run.loop.scheduler_progress.total.ready > self._run.scheduled


def follow_ranks(strategy: Any, run: "InPlace") -> None:
    """Makes a strategy report the present ranks. An extension that has not joined is never the first rank: it
    prints and logs nothing."""
    from lightning_utilities.core import rank_zero
    rank_zero_only: Any = rank_zero.rank_zero_only

    def set_world_ranks(_self: Any) -> None:
        rank_zero_only.rank = max(run.course.rank, int(run.outside))

    class_of = type(strategy)
    strategy.__class__ = type(class_of.__name__, (class_of,), {
        "global_rank": property(lambda _: run.course.rank), "world_size": property(lambda _: run.course.size),
        "is_global_zero": property(lambda _: run.course.rank == 0 and not run.outside),
        "distributed_sampler_kwargs": property(lambda _: {"num_replicas": run.course.size, "rank": run.course.rank}),
        "set_world_ranks": set_world_ranks})
    strategy.set_world_ranks()


def step_after_closure(opt: torch.optim.Optimizer, run: InPlace) -> None:
    """An optimizer calls Lightning's closure first in its step(). Here the closure decides whether it acts."""
    step: Any = opt.step

    def acting_step(_self: Any, closure: Any = None, **kwargs: Any) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        return step(lambda: loss, **kwargs) if run.completes else loss

    replace_method(opt, "step", acting_step)


def take_sigterm(trainer: Any, is_extension: bool) -> None:
    """Lightning's own handler starts a broadcast, which ranks of other jobs do not expect."""
    asked = int(os.environ.get("RINGRT_SIGNAL", signal.SIGURG))

    def take(_number: int, _frame: Any) -> None:
        if is_extension:  # it leaves
            os.kill(os.getpid(), asked)
        else:
            trainer._signal_connector.received_sigterm = True

    signal.signal(signal.SIGTERM, take)
