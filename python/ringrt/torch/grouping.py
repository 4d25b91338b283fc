# SPDX-License-Identifier: BSD-3-Clause
"""Buckets for DistributedDataParallel from measurements: when each gradient is ready, and an all_reduce's cost."""
from __future__ import annotations

import inspect
import statistics
import time
from typing import Any, Callable, Optional

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .buckets import MIB, Gradient, Link, best_limit, best_sizes, fit_link, in_ready_order, last_end, sizes_under

_LINK_SIZES = [4 << 10 << 2 * power for power in range(7)]  # 4 KiB … 16 MiB
_LINK_REPEATS = 5
_LONG_S = 0.05  # beyond this, no larger size is tried
_GAIN = 0.02  # of the time from the first gradient to the last bucket's end; a smaller gain is not worth a change
_HAS_LIST = "bucket_cap_mb_list" in inspect.signature(DistributedDataParallel.__init__).parameters


class ReadyTimes:
    """Records when each parameter's gradient is complete. Call start() before a backward pass, stop() after it."""

    def __init__(self, parameters: "list[torch.nn.Parameter]") -> None:
        self.parameters = parameters
        self._rounds: "list[list[Optional[float]]]" = []
        self._now: "Optional[list[Any]]" = None
        self._hooks = [parameter.register_post_accumulate_grad_hook(self._noter(index))
                       for index, parameter in enumerate(parameters)]

    def _noter(self, index: int) -> Callable[[torch.Tensor], None]:
        def note(parameter: torch.Tensor) -> None:
            if self._now is None:
                return
            if parameter.is_cuda:  # the hook runs when the work is launched
                self._now[index] = torch.cuda.Event(enable_timing=True)
                self._now[index].record()
            else:
                self._now[index] = time.perf_counter()
        return note

    def start(self) -> None:
        self._now = [None] * len(self.parameters)

    def stop(self) -> None:
        now, self._now = self._now, None
        if now is None or all(one is None for one in now):
            return  # no backward pass
        if isinstance(next(one for one in now if one is not None), float):
            self._rounds.append(now)
            return
        torch.cuda.synchronize()
        first = next(one for one in now if one is not None)
        self._rounds.append([None if one is None else first.elapsed_time(one) * 1e-3 for one in now])

    @property
    def rounds(self) -> int:
        return len(self._rounds)

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def medians(self) -> "list[float]":
        """Seconds after the first gradient, for each parameter; one that never had a gradient comes last."""
        after = []
        for times in self._rounds:
            first = min(one for one in times if one is not None)
            after.append([None if one is None else one - first for one in times])
        last = max(one for times in after for one in times if one is not None)
        columns = [[one for one in column if one is not None] for column in zip(*after)]
        return [statistics.median(column) if column else last for column in columns]


def _largest(numbers: "list[float]", group: Any, device: torch.device) -> "list[float]":
    """The maximum over the ranks, the same on all ranks."""
    whole = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.all_reduce(whole, op=dist.ReduceOp.MAX, group=group)
    return whole.tolist()


def measure_link(group: Any = None, device: "torch.device | str" = "cpu", dtype: torch.dtype = torch.float32) -> Link:
    """The cost of an all_reduce without other traffic. Collective."""
    device, measured = torch.device(device), []
    for size in _LINK_SIZES:
        memory = torch.zeros(size // dtype.itemsize, dtype=dtype, device=device)
        times = []
        for repeat in range(_LINK_REPEATS + 1):
            dist.barrier(group=group)
            begun = time.perf_counter()
            dist.all_reduce(memory, group=group)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            if repeat:  # the first opens connections
                times.append(time.perf_counter() - begun)
        taken = _largest([statistics.median(times)], group, device)[0]
        measured.append((size, taken))
        if taken > _LONG_S:
            break
    return fit_link(measured)


def _of_one_kind(parameters: "list[torch.nn.Parameter]") -> "list[torch.nn.Parameter]":
    """The parameters that DDP reduces. It groups each type and device separately, but takes one list of sizes."""
    learned = [parameter for parameter in parameters if parameter.requires_grad]
    if len({(parameter.dtype, parameter.device) for parameter in learned}) != 1:
        raise ValueError("buckets cannot be planned: the parameters are of several types, or on several devices")
    return learned


def _gradients(times: ReadyTimes, group: Any) -> "list[Gradient]":
    parameters = times.parameters
    ready = _largest(times.medians(), group, parameters[0].device)
    return in_ready_order([Gradient(parameter.numel() * parameter.element_size(), when)
                           for parameter, when in zip(parameters, ready)])


def _options(gradients: "list[Gradient]", link: Link, has_list: bool) -> "tuple[dict[str, Any], list[int]]":
    """Arguments of DistributedDataParallel, and the buckets that it makes from them."""
    if has_list:
        sizes = best_sizes(gradients, link)
        return {"bucket_cap_mb_list": [size / MIB for size in sizes]}, sizes
    limit = best_limit(gradients, link)
    return {"bucket_cap_mb": limit / MIB}, sizes_under(gradients, [limit])


def plan_buckets(model: torch.nn.Module, backward: Callable[[], Any], *, group: Any = None,
                 rounds: int = 5) -> "dict[str, Any]":
    """How DistributedDataParallel should group the gradients of `model`, as its arguments:

        buckets = ringrt.torch.plan_buckets(net, lambda: loss_fn(net(x), y).backward())
        model = DistributedDataParallel(net, **buckets)

    `backward` runs a forward and a backward pass of the training's size. It is called `rounds` + 1 times.
    Afterwards the model's gradients are None. Collective."""
    times = ReadyTimes(_of_one_kind(list(model.parameters())))
    try:
        for count in range(rounds + 1):
            model.zero_grad(set_to_none=True)
            if count:
                times.start()
            backward()
            times.stop()
    finally:
        times.close()
        model.zero_grad(set_to_none=True)
    if not times.rounds:
        raise ValueError("buckets cannot be planned: backward() made no gradients")
    first = times.parameters[0]
    gradients = _gradients(times, group)
    return _options(gradients, measure_link(group, first.device, first.dtype), _HAS_LIST)[0]


class Regrouping:
    """Measures the first steps of a DistributedDataParallel, then gives it the best buckets for them."""

    WARM_UP, ROUNDS = 3, 5  # steps; DDP itself regroups after its first

    def __init__(self, model: torch.nn.Module, ddp: "list[DistributedDataParallel]") -> None:
        if len(ddp) != 1 or hasattr(model, "_orig_mod"):
            raise ValueError("plan_buckets needs one DistributedDataParallel that is not compiled")
        self.ddp = ddp[0]
        why = _why_fixed(self.ddp)
        if why:
            raise ValueError(f"plan_buckets cannot change this DistributedDataParallel: {why}")
        self._times: "Optional[ReadyTimes]" = ReadyTimes(_of_one_kind(list(self.ddp.module.parameters())))
        self._steps = 0

    def begin(self) -> None:
        """Call before the micro-batch whose gradients are reduced."""
        if self._times is not None and self._steps >= self.WARM_UP:
            self._times.start()

    def end_step(self) -> None:
        """Collective. Call after the optimizer's step."""
        if self._times is None:
            return
        self._times.stop()
        self._steps += 1
        if self._steps < self.WARM_UP + self.ROUNDS:
            return
        times, self._times = self._times, None
        times.close()
        if times.rounds:
            self._regroup(times)

    def _regroup(self, times: ReadyTimes) -> None:
        ddp, first = self.ddp, times.parameters[0]
        group = ddp.process_group
        gradients, link = _gradients(times, group), measure_link(group, first.device, first.dtype)
        options, sizes = _options(gradients, link, _HAS_LIST)
        present = last_end(gradients, sizes_under(gradients, _limits(ddp)), link)
        if last_end(gradients, sizes, link) < (1 - _GAIN) * present:
            rebuild_ddp(ddp, **options)


def _limits(ddp: DistributedDataParallel) -> "list[int]":
    """The limits of its current buckets."""
    given = getattr(ddp, "bucket_bytes_cap_list", None)
    if given:
        return list(given)
    return [dist._DEFAULT_FIRST_BUCKET_BYTES, ddp.bucket_bytes_cap] if getattr(
        ddp, "bucket_bytes_cap_default", False) else [ddp.bucket_bytes_cap]


def _why_fixed(ddp: DistributedDataParallel) -> "Optional[str]":
    if ddp.find_unused_parameters:
        return "with find_unused_parameters it does not group in the order in which gradients become ready"
    return why_not_rebuilt(ddp)


def why_not_rebuilt(ddp: DistributedDataParallel) -> "Optional[str]":
    """What rebuild_ddp() would lose; None: nothing."""
    if type(ddp) is not DistributedDataParallel:
        return "its class is derived from DistributedDataParallel"
    if getattr(ddp, "mixed_precision", None) is not None:
        return "it has mixed_precision"
    if getattr(ddp, "_comm_hooks", None):
        return "it has a communication hook"
    if getattr(ddp, "_delay_all_reduce_params", None):
        return "it delays the exchange of some parameters"
    if any(getattr(ddp, name) for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
                                           "_backward_pre_hooks")):
        return "it has its own hooks"
    return None


def rebuild_ddp(ddp: DistributedDataParallel, **options: Any) -> None:
    """Runs the constructor of the same object again, with other arguments, because no method changes its buckets.
    Collective, between two steps. It does not compare or broadcast weights, because they are equal."""
    takes = inspect.signature(DistributedDataParallel.__init__).parameters
    kept = {"process_group": ddp.process_group, "dim": ddp.dim, "static_graph": ddp.static_graph,
            "find_unused_parameters": ddp.find_unused_parameters,
            "gradient_as_bucket_view": ddp.gradient_as_bucket_view, "init_sync": False}
    if ddp.device_ids is not None:
        kept.update(device_ids=ddp.device_ids, output_device=ddp.output_device)
    if "forward_sync_buffers" in takes:  # called broadcast_buffers in older versions
        kept["forward_sync_buffers"] = ddp.forward_sync_buffers
    else:
        kept["broadcast_buffers"] = ddp.broadcast_buffers
    for name in ("skip_all_reduce_unused_params", "batched_grad_copy", "lazy_bucket_allocation"):
        if name in takes and hasattr(ddp, name):
            kept[name] = getattr(ddp, name)
    training, synced = ddp.training, ddp.require_backward_grad_sync
    DistributedDataParallel.__init__(ddp, ddp.module, **{**kept, **options})
    ddp.training = training  # of this object alone: its modules keep their modes
    ddp.require_backward_grad_sync = synced
