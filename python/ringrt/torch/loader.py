# SPDX-License-Identifier: BSD-3-Clause
"""A DataLoader that yields this rank's micro-batches of the global batch, from the training's position."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Callable, Iterator

import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, IterableDataset

from .plan import seed_of
from .randomness import SeededIndices

if TYPE_CHECKING:
    from .malleable import Malleable


def check_loader(loader: Any) -> None:
    if not isinstance(loader, DataLoader):
        raise TypeError(f"expected a torch.utils.data.DataLoader, got {type(loader).__name__}")
    if isinstance(loader.dataset, IterableDataset):
        raise TypeError("an IterableDataset has no positions to continue from: use a map-style data set, or "
                        "ringrt.Run and its step()")
    if type(loader.batch_sampler) is not BatchSampler:
        raise TypeError("the DataLoader has no batch size, or has its own batch sampler: give it batch_size and "
                        "a sampler")


def epoch_order(sampler: Any, epoch: int, seed: int) -> "list[int]":
    """The whole epoch's samples in the sampler's order, the same on all ranks."""
    if isinstance(sampler, DistributedSampler):
        whole = copy.copy(sampler)
        whole.num_replicas, whole.rank = 1, 0
        whole.num_samples = whole.total_size = len(whole.dataset)  # type: ignore[arg-type]
        return [int(index) for index in whole]
    # Any other sampler draws from its own generator or torch's.
    generator = getattr(sampler, "generator", None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of(seed, epoch))
        if generator is not None:
            generator.manual_seed(seed_of(seed, epoch))
        return [int(index) for index in sampler]


class MicroBatches:
    """Replaces the loader's batch sampler."""

    def __init__(self, run: "Malleable") -> None:
        self._run = run

    def __iter__(self) -> "Iterator[SeededIndices]":
        run = self._run
        for micro in run.planned():
            yield SeededIndices(micro.indices, run.seed_of_micro_batch(micro))

    def __len__(self) -> int:
        run = self._run
        return run.plan.steps * len(run.plan.workers_of(run.rank, run.size))


def attach(loader: DataLoader, run: "Malleable") -> None:
    """Changes the object that the program's loop iterates over."""
    class_of = type(loader)
    whole: "Callable[[Any], Iterator[Any]]" = class_of.__iter__
    loader.__dict__["batch_sampler"] = MicroBatches(run)  # DataLoader forbids setting this attribute
    loader.__class__ = type(f"Malleable{class_of.__name__}", (class_of,),
                            {"__iter__": lambda self: run.iterate(lambda: whole(self))})
