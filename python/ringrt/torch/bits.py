# SPDX-License-Identifier: BSD-3-Clause
"""The same bits at every number of ranks. A floating-point sum depends on its order. So the gradients of a step's
micro-batches are added in one order for every number of ranks, a binary tree over the step's workers (plan.py),
as in EasyScale (Li et al., SC 2023):

    workers            0   1   2   3   4   5   6   7
    a rank of two      └─┬─┘   └─┬─┘   └─┬─┘   └─┬─┘      each rank adds its own workers,
                         └───┬───┘       └───┬───┘        then the ranks add their sums
                             └───────┬───────┘

Each micro-batch begins with the buffers of the step's start, so running statistics do not depend on earlier
micro-batches. Their changes are added like gradients. Every other buffer becomes worker 0's."""
from __future__ import annotations

from typing import Any, Iterable

import torch
import torch.distributed as dist

from .accumulate import Position
from .plan import MicroBatch


class TreeSum:
    """Adds lists of tensors as they arrive, in pairs of equal numbers of leaves."""

    def __init__(self) -> None:
        self._open: "list[tuple[int, list[torch.Tensor]]]" = []  # (leaves, their sum), in falling order of leaves

    def add(self, leaf: "list[torch.Tensor]") -> None:
        leaves = 1
        while self._open and self._open[-1][0] == leaves:
            leaf = [left.add_(right) for left, right in zip(self._open.pop()[1], leaf)]
            leaves *= 2
        self._open.append((leaves, leaf))

    def take(self) -> "list[torch.Tensor]":
        (_, total), = self._open  # the number of leaves is a power of two
        self._open = []
        return total


def sum_of_rows(rows: "Iterable[torch.Tensor]") -> torch.Tensor:
    """The upper part of the tree, over the ranks."""
    parts = list(rows)
    while len(parts) > 1:
        parts = [parts[i] + parts[i + 1] if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def sum_over_ranks(tensor: torch.Tensor, group: Any) -> None:
    """In place. Each rank sums one of `ranks` equal parts for all. Sends as many bytes as a ring all-reduce."""
    ranks = dist.get_world_size(group)
    parts = torch.empty_like(tensor)
    dist.all_to_all_single(parts, tensor, group=group)
    dist.all_gather_into_tensor(tensor, sum_of_rows(parts.view(ranks, -1)), group=group)


def flat(tensors: "Iterable[torch.Tensor]") -> torch.Tensor:
    return torch.cat([one.reshape(-1) for one in tensors])


def by_kind(tensors: "Iterable[torch.Tensor]") -> "dict[Any, list[torch.Tensor]]":
    """Groups the tensors that one flat tensor can hold."""
    kinds: "dict[Any, list[torch.Tensor]]" = {}
    for one in tensors:
        kinds.setdefault((one.dtype, one.device), []).append(one)
    return kinds


def check(model: torch.nn.Module, sharded: bool, micro_batches: int) -> None:
    if sharded:
        raise ValueError("same_bits=True adds up whole gradients: it cannot be combined with fully_shard()")
    if micro_batches & micro_batches - 1:
        raise ValueError(f"same_bits=True: a rank has {micro_batches} micro-batches of a step, not a power of two: "
                         "the order of sums would differ with the number of ranks")
    if any(isinstance(module, torch.nn.SyncBatchNorm) for module in model.modules()):
        raise ValueError("same_bits=True: SyncBatchNorm adds over the ranks in its own order; "
                         "use BatchNorm, its statistics are exchanged")


class SameBits:
    def __init__(self, model: torch.nn.Module, ddp: "list[Any]", position: Position) -> None:
        self._ddp, self._position = ddp, position
        self._group = ddp[0].process_group if ddp else None  # one rank if there is no DDP
        self._ranks = dist.get_world_size(self._group) if ddp else 1
        self._parameters = by_kind(one for one in model.parameters() if one.requires_grad)
        statistics = [one for module in model.modules() for name in ("running_mean", "running_var")
                      if (one := getattr(module, name, None)) is not None]
        known = {id(one) for one in statistics}
        self._statistics = by_kind(statistics)
        self._others = by_kind(one for one in model.buffers() if id(one) not in known)
        self._buffers = [*statistics, *(one for some in self._others.values() for one in some)]
        self._kinds = list(dict.fromkeys([*self._parameters, *self._statistics]))
        self._before: "dict[int, torch.Tensor]" = {}  # a buffer's content at the step's start
        self._of_worker_0: "list[torch.Tensor]" = []  # the other buffers, on rank 0
        self._share = 1.0
        self._has_called = self._taken = False
        for parameters in self._parameters.values():
            for one in parameters:
                one.register_post_accumulate_grad_hook(self._accumulated)

    def begin(self, micro: MicroBatch) -> None:
        """Call before a micro-batch's forward pass."""
        for module in self._ddp:  # it reduces neither gradients nor buffers
            module.require_backward_grad_sync = module.require_forward_param_sync = False
        if self._position.first:
            self._tree = TreeSum()
            self._before = {id(one): one.clone() for one in self._buffers}
        else:
            if not self._taken:  # the program skipped its backward pass
                self._take()
            self._restore_buffers()
        self._share, self._has_called, self._taken = micro.share, False, False

    def end_step(self) -> None:
        if not self._taken:  # the other ranks wait for its sum
            raise RuntimeError("same_bits=True: a step's last micro-batch had no backward()")

    def _restore_buffers(self) -> None:
        with torch.no_grad():
            for one in self._buffers:
                one.copy_(self._before[id(one)])

    def _accumulated(self, _parameter: torch.Tensor) -> None:
        if self._position.in_batch and not self._has_called:
            self._has_called = True
            torch.autograd.Variable._execution_engine.queue_callback(self._after_backward)  # type: ignore[attr-defined]

    def _after_backward(self) -> None:
        self._has_called = False
        if self._taken:
            raise RuntimeError("same_bits=True: a second backward() in a micro-batch: add up the losses first")
        self._take()
        if self._position.last:
            self._give(self._tree.take())

    @torch.no_grad()
    def _take(self) -> None:
        """Takes this micro-batch's gradients, which parameters have one, and its changes of the statistics."""
        leaf = []
        for kind in self._kinds:
            parameters = self._parameters.get(kind, [])
            if any(one.grad is not None and one.grad.is_sparse for one in parameters):
                raise RuntimeError("same_bits=True: a parameter's gradient is sparse: no tree order adds it")
            gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
            has_one = torch.tensor([one.grad is not None for one in parameters], dtype=kind[0], device=kind[1])
            changes = [one - self._before[id(one)] for one in self._statistics.get(kind, [])]
            count = len(has_one) + sum(one.numel() for one in [*gradients, *changes])
            padding = has_one.new_zeros(-count % self._ranks)
            leaf.append(flat([*gradients, has_one, *changes, padding]).mul_(self._share))
            for one in parameters:
                one.grad = None
        self._tree.add(leaf)
        if self._position.first:
            self._of_worker_0 = [flat(some) for some in self._others.values()]
        self._taken = True

    @torch.no_grad()
    def _give(self, sums: "list[torch.Tensor]") -> None:
        """The sums over all workers become the gradients and the statistics."""
        if self._group is not None:
            for one in sums:
                sum_over_ranks(one, self._group)
            for one in self._of_worker_0:
                dist.broadcast(one, dist.get_global_rank(self._group, 0), group=self._group)
        for kind, total in zip(self._kinds, sums):
            parameters, statistics = self._parameters.get(kind, []), self._statistics.get(kind, [])
            sizes = [*(one.numel() for one in parameters), len(parameters), *(one.numel() for one in statistics)]
            pieces = iter(total[:sum(sizes)].split(sizes))
            gradients = [next(pieces) for _ in parameters]
            for one, gradient, is_there in zip(parameters, gradients, next(pieces).tolist()):
                one.grad = gradient.view(one.shape) if is_there else None
            for one in statistics:
                one.copy_(self._before[id(one)] + next(pieces).view(one.shape))
        for some, content in zip(self._others.values(), self._of_worker_0):
            for one, piece in zip(some, content.split([one.numel() for one in some])):
                one.copy_(piece.view(one.shape))
