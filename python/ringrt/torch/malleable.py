# SPDX-License-Identifier: BSD-3-Clause
"""malleable(): makes a plain PyTorch loop resizable with three lines."""
from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Optional, Sequence, Union

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from ..handle import Handle, HasHandle
from ..leaving import Leave
from . import bits, live, remesh
from .accumulate import (GradientScale, Position, accumulate_model, accumulate_optimizer, act_at_end,
                         ddp_modules)
from .elements import INT64
from .grouping import Regrouping
from .loader import attach, check_loader, epoch_order
from .plan import MicroBatch, Plan, reference_of, seed_of
from .randomness import seed_all
from .sharded import ShardedGradientScale, ShardedState, is_sharded, mesh_of
from .sharded_live import ShardedLive
from .state import TorchState, unwrapped

_NEVER_S = 31536000  # the library's maximum: a year


def _listed(objects: Any) -> "list[Any]":
    return [] if objects is None else list(objects) if isinstance(objects, (list, tuple)) else [objects]


def _numbered(name: str, objects: "list[Any]") -> "dict[str, Any]":
    return {name if i == 0 else f"{name}.{i}": one for i, one in enumerate(objects)}


def gather_over_torch(mine: bytes) -> "list[bytes]":
    every: "list[Any]" = [None] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    return every


def _world() -> "dict[str, Any]":
    """The ranks of torch.distributed, if the program has initialized it."""
    if not (dist.is_available() and dist.is_initialized()):
        return {}
    return {"rank": dist.get_rank(), "size": dist.get_world_size(), "gather": gather_over_torch}


class _Where:
    """The position in the training, as a part of the state."""

    def __init__(self, run: "Malleable") -> None:
        self._run = run

    def state_dict(self) -> "dict[str, int]":
        run = self._run
        return {"step": run.steps_done, "epoch": run.epoch, "epoch_step": run.epoch_step, "seed": run.seed,
                "samples": run.plan.samples, "batch": run.plan.batch, "reference": run.plan.reference,
                "sharded": run.sharded}

    def load_state_dict(self, saved: "dict[str, int]") -> None:
        run = self._run
        if saved.get("sharded", False) != run.sharded:
            ways = ("without", "with") if run.sharded else ("with", "without")
            raise ValueError(f"the checkpoint was made {ways[0]} fully_shard(), this run is {ways[1]} it")
        for name in ("samples", "batch", "reference"):
            if saved[name] != getattr(run.plan, name):
                what = {"samples": "samples in the data set", "batch": "samples per micro-batch",
                        "reference": "micro-batches per step"}[name]
                raise ValueError(f"the checkpoint was made with {saved[name]} {what}, this run has "
                                 f"{getattr(run.plan, name)}")
        run.steps_done, run.epoch, run.epoch_step = saved["step"], saved["epoch"], saved["epoch_step"]
        run.seed = saved["seed"]


class Malleable(HasHandle):
    """Returned by malleable(); see there."""

    def __init__(self, loader: DataLoader, model: torch.nn.Module, opts: "list[Any]", scheds: "list[Any]",
                 scaler: Any, reference: Optional[int], seed: Optional[int], same_bits: bool,
                 plan_buckets: bool, more: "dict[str, Any]", options: "dict[str, Any]") -> None:
        check_loader(loader)
        world = _world()
        self.steps_done = self.epoch = self.epoch_step = 0
        self.left = False
        self._in_epochs = False
        self._open_step = False  # its last micro-batch was yielded
        self._loader, self._position = loader, Position()
        ranks = world.get("size", 1)
        self._ddp, self.sharded = ddp_modules(model), is_sharded(model)
        if ranks > 1 and not self._ddp and not self.sharded:
            raise ValueError("model is neither a DistributedDataParallel nor one of fully_shard(), and there are "
                             "several ranks: its gradients would not be exchanged")
        mesh = mesh_of(model, ranks) if self.sharded else None
        self._scale = ShardedGradientScale(model) if self.sharded else GradientScale(model)
        in_place = live.is_asked() and self._can_be_live(model, same_bits, plan_buckets)
        if reference is None:
            reference = reference_of(os.environ.get("RINGRT_MALLEABLE"), ranks, evenly=not in_place)
        drop_last = bool(loader.drop_last or getattr(loader.sampler, "drop_last", False))
        self.plan = Plan(len(loader.dataset), loader.batch_size or 1, reference, drop_last,  # type: ignore[arg-type]
                         alike=self.sharded)  # a forward pass is collective
        self.accumulate = 0 if in_place else self.plan.micro_batches_a_step(ranks)
        if same_bits:
            bits.check(model, self.sharded, self.accumulate)
        self._bits = bits.SameBits(model, self._ddp, self._position) if same_bits else None
        if plan_buckets and (same_bits or self.sharded):
            raise ValueError("plan_buckets groups what DistributedDataParallel exchanges: not with same_bits or fully_shard()")
        self._regrouping = Regrouping(model, self._ddp) if plan_buckets and ranks > 1 else None
        self.seed = torch.initial_seed() >> 1 if seed is None else seed
        # Outside Slurm a second start in the same directory is a new training, unless a directory is named.
        kept = "checkpoint_dir" in options or any(
            os.environ.get(name) for name in ("SLURM_JOB_ID", "RINGRT_CHECKPOINT_DIR"))
        if not kept:
            options = {"save_interval_s": _NEVER_S, **options}
        if in_place:  # the ranks meet in the directory, where extensions also look for them
            options = {"live_resize": 1, **options}
            world.pop("gather", None)
        self._handle = Handle(global_batch=self.plan.step_samples, **world, **options)
        # If torch.distributed is not initialized but there are several ranks, nothing reduces gradients.
        joins = in_place and live.is_extension()
        if self.handle.size != ranks and not joins:
            raise ValueError(f"this is one of {self.handle.size} ranks, but torch.distributed is not initialized: "
                             "call init_process_group() first")
        parts = {"ringrt": _Where(self), "model": unwrapped(model), **_numbered("opt", opts),
                 **_numbered("sched", scheds), **({"scaler": scaler} if scaler is not None else {}), **more}
        self._state = ShardedState(parts, mesh) if self.sharded else TorchState(parts)
        self._live: "Optional[live.Live]" = None
        if in_place:
            self._live = self._make_live(model, opts, parts, scaler, scheds)
        if not joins:
            self._share_seed()
        saves = self._live if isinstance(self._live, ShardedLive) else self._state
        self.handle.set_saver(lambda directory, step: saves.save(self.handle.rank, directory),
                              lambda directory, step: self._state.load(directory))
        self.resumed = kept and not joins and self.handle.restore() is not None
        accumulate_model(model, self._position)
        for opt in opts:
            accumulate_optimizer(opt, self._position)
        for sched in scheds:
            act_at_end(sched, ["step"], self._position)
        if scaler is not None:
            act_at_end(scaler, ["step", "update", "unscale_"], self._position)
        attach(loader, self)
        if self._live is not None:
            self._live.begin()

    def _can_be_live(self, model: torch.nn.Module, same_bits: bool, plan_buckets: bool) -> bool:
        why = live.why_not(model, None if self.sharded else self._ddp,
                           {"same_bits": same_bits, "plan_buckets": plan_buckets})
        if why is None and self.sharded:
            why = remesh.why_not(model)
        if why is not None:
            live.decline(why, not dist.is_initialized() or dist.get_rank() == 0)
        return why is None

    def _make_live(self, model: torch.nn.Module, opts: "list[Any]", parts: "dict[str, Any]", scaler: Any,
                   scheds: "list[Any]") -> live.Live:
        if isinstance(self._state, ShardedState) and isinstance(self._scale, ShardedGradientScale):
            return ShardedLive(self, model, opts, self._state, self._scale)
        small = {name: one for name, one in parts.items() if name == "ringrt" or one is scaler or one in scheds}
        return live.Live(self, model, opts, small)

    def _share_seed(self) -> None:
        if self.handle.size > 1:
            seed = torch.tensor([self.seed], dtype=torch.int64)
            self.handle.broadcast(seed.data_ptr(), 1, INT64, 0)
            self.seed = int(seed)

    # ---- for the program -----------------------------------------------------------------------

    @property
    def steps_per_epoch(self) -> int:
        """Updates of the weights per epoch, at every number of ranks."""
        return self.plan.steps

    @property
    def first(self) -> bool:
        """Whether this is this rank's first micro-batch of the step: reset your own sums over a step here."""
        return self._position.first

    @property
    def last(self) -> bool:
        """Whether this step's gradients are complete after this backward pass: clip them only then."""
        return self._position.last and not self._position.step.is_lost

    def epochs(self, count: Optional[int] = None) -> Iterator[int]:
        """The remaining epochs, beginning with the current one."""
        if self._live is not None:
            self._live.join()
        if count is not None:
            whole = count * self.plan.steps
            self.handle.set_steps_left(max(0, whole - self.epoch * self.plan.steps - self.epoch_step))
        self._in_epochs = True
        try:
            while count is None or self.epoch < count:
                epoch = self.epoch
                yield epoch
                returns = self._live.returns if self._live is not None else 0
                self._end_step(in_tail=True)  # the program left its loop over the batches early
                if self._live is not None and (self._live.returns != returns or not self._live.ends_epoch(epoch)):
                    continue
                self.epoch, self.epoch_step = self.epoch + 1, 0
                self._boundary(in_tail=True)  # the code after the batches is also done: validation, scheduler
        finally:
            self._in_epochs = False
        self.finish()

    def finish(self) -> None:
        """Ends the run before the program ends. Collective; epochs() calls it after the last epoch."""
        if self._live is not None:
            self._live.finish()
        else:
            self.handle.finalize()

    # ---- for the loader ------------------------------------------------------------------------

    def planned(self) -> Iterator[MicroBatch]:
        order = epoch_order(self._loader.sampler, self.epoch, self.seed)
        return self.plan.from_step(order, self.epoch_step, self.rank, self.size)

    def seed_of_micro_batch(self, micro: MicroBatch) -> int:
        return seed_of(self.seed, self.epoch, micro.step, micro.worker)

    def iterate(self, whole: "Callable[[], Iterator[Any]]") -> Iterator[Any]:
        """The micro-batches of the rest of the epoch, with the boundary between two steps."""
        if not self._in_epochs:
            raise RuntimeError("this loader belongs to a malleable run: iterate inside `for epoch in run.epochs(n)`")
        self._end_step()
        live, epoch = self._live, self.epoch
        while True:
            moves, batches = live.moves if live is not None else 0, whole()
            try:
                for micro in self.planned():
                    self._begin(micro)
                    batch = next(batches)
                    seed_all(self.seed_of_micro_batch(micro))
                    self._position.in_batch, self._open_step = True, micro.last
                    yield batch
                    self._position.in_batch = False
                    if self._position.step.is_lost:
                        self._open_step = True
                    if self._open_step:
                        self._end_step()
                    if live is not None and live.moves != moves:
                        break  # other ranks: other micro-batches
            finally:
                self._position.in_batch = False
            if live is None or live.moves == moves or self._position.step.is_lost or self.epoch != epoch:
                return
            del batches  # its workers end

    def _begin(self, micro: MicroBatch) -> None:
        self._position.first = micro.worker == self.plan.workers_of(self.rank, self.size)[0]
        self._position.last = micro.last
        self._position.number += 1
        if self._bits is not None:
            self._bits.begin(micro)
            return
        self._scale.set(micro.scale)
        for module in self._ddp:
            module.require_backward_grad_sync = micro.last
        if self._regrouping is not None and micro.last:
            self._regrouping.begin()

    def _end_step(self, in_tail: bool = False) -> None:
        if not self._open_step:
            return
        self._open_step = self._position.in_batch = False
        if self._live is not None and self._live.is_void():
            self._live.undo(in_tail)
            return
        if self._bits is not None:
            self._bits.end_step()
        if self._regrouping is not None:
            self._regrouping.end_step()
        self.steps_done += 1
        self.epoch_step += 1
        self._boundary(in_tail)

    def _boundary(self, in_tail: bool = False) -> None:
        if self._live is not None:
            self._live.boundary(in_tail)
            return
        self.left = self.handle.step(self.steps_done)
        if self.left:
            self.handle.finalize()
            raise Leave(0)  # the job was requeued: Slurm restarts it


def malleable(loader: DataLoader, *, model: torch.nn.Module, opt: Union[Any, Sequence[Any]],
              sched: Union[Any, Sequence[Any], None] = None, scaler: Any = None,
              reference: Optional[int] = None, seed: Optional[int] = None, same_bits: bool = False,
              plan_buckets: bool = False, options: "Optional[dict[str, Any]]" = None, **more: Any) -> Malleable:
    """Makes the training that iterates over `loader` malleable, and restores its saved state.

        run = ringrt.torch.malleable(loader, model=model, opt=opt, sched=sched)
        for epoch in run.epochs(90):
            loader.sampler.set_epoch(epoch)
            for x, y in loader: ...

    The batch of a step stays loader.batch_size · `reference` samples at every number of ranks; `reference` is the
    most ranks that the job may have. With fewer ranks, each rank takes several micro-batches per step, and
    opt.step(), opt.zero_grad() and sched.step() act only at the step's end. Each sample is seen once per epoch.
    The loss must be a mean over the micro-batch. Clip gradients only `if run.last:`.

    `same_bits`: the weights are the same, bit for bit, whatever numbers of ranks the training had: see bits.py.
    `plan_buckets`: plans DDP's buckets from the first steps' gradients and link: see buckets.py.
    `scaler`: a GradScaler. `more`: other parts of the state, with state_dict() and load_state_dict().
    `options`: fields of ringrt_config_t.

    Collective: all ranks call it, after init_process_group() and after DistributedDataParallel(model) or
    fully_shard(model)."""
    return Malleable(loader, model, _listed(opt), _listed(sched), scaler, reference, seed, same_bits,
                     plan_buckets, more, dict(options or {}))
