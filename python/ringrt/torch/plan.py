# SPDX-License-Identifier: BSD-3-Clause
"""Which samples make up which micro-batch. PURE: only numbers; no torch.

A training step is one update of the weights. Its batch consists of `reference` micro-batches, one per *worker*. A
job with fewer ranks gives each rank several workers, in sequence. So every update uses the same samples, in the
same micro-batches, at every number of ranks:

    order of the epoch   | step 0: reference · batch samples | step 1 | … | the rest |
    worker w of a step     samples w, w + reference, w + 2 · reference … of it
    rank r of n            workers r · c … r · c + c - 1, where c = reference / n
                           (resized in place, n need not divide it: from r · reference / n, rounded down)

torch's DistributedSampler gives the same to `reference` ranks, except in an epoch's last step. If that step has
fewer samples, they are distributed as evenly as possible, none is repeated, and each micro-batch is weighted by
its samples.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Sequence


@dataclass(frozen=True)
class MicroBatch:
    step: int  # within the epoch
    worker: int
    indices: "tuple[int, ...]"
    # Its gradient is a mean over its samples. Multiplied by `scale` and averaged over the ranks, the sum is the
    # mean over all samples of the step.
    scale: float
    last: bool  # of its step, on this rank
    share: float  # of the step's samples: bit-identical at every number of ranks


@dataclass(frozen=True)
class Plan:
    samples: int  # in an epoch
    batch: int  # samples of a micro-batch
    reference: int  # micro-batches of a step
    drop_last: bool = False  # drops the last step if it has fewer samples than the others
    alike: bool = False  # every rank runs as many micro-batches as the others, some without a sample

    def __post_init__(self) -> None:
        if self.samples <= 0 or self.batch <= 0 or self.reference <= 0:
            raise ValueError("an epoch without samples, or a batch without any")

    @property
    def step_samples(self) -> int:
        return self.batch * self.reference

    @property
    def steps(self) -> int:
        whole, rest = divmod(self.samples, self.step_samples)
        return whole + (1 if rest and not self.drop_last else 0)

    def micro_batches_a_step(self, ranks: int) -> int:
        if ranks <= 0 or self.reference % ranks:
            raise ValueError(f"{self.reference} micro-batches of a step cannot be divided evenly among "
                             f"{ranks} ranks: the number of ranks must divide it")
        return self.reference // ranks

    def workers_of(self, rank: int, ranks: int) -> "list[int]":
        """The workers that a rank runs in each step. With more ranks than workers, a rank without any gets one of
        its own, which never has a sample. If all are `alike`, so does a rank that has fewer workers than another."""
        some = range(rank * self.reference // ranks, (rank + 1) * self.reference // ranks)
        least = -(-self.reference // ranks) if self.alike else 1
        own = self.reference + rank * least
        return [*some, *range(own, own + least - len(some))]

    def of_step(self, order: Sequence[int], step: int, rank: int, ranks: int) -> "list[MicroBatch]":
        """This rank's micro-batches of one step; `order` holds the samples of the epoch."""
        begin = step * self.step_samples
        end = min(begin + self.step_samples, self.samples)
        workers = self.workers_of(rank, ranks)
        out = []
        for worker in workers:
            mine = () if worker >= self.reference else tuple(order[begin + worker:end:self.reference])
            scale = ranks * len(mine) / (end - begin)
            # A worker without samples takes one with weight 0, because its rank must take part.
            out.append(MicroBatch(step, worker, mine or (order[begin],), scale,
                                  worker == workers[-1], len(mine) / (end - begin)))
        return out

    def from_step(self, order: Sequence[int], first: int, rank: int, ranks: int) -> Iterator[MicroBatch]:
        if len(order) != self.samples:
            raise ValueError(f"the sampler gave {len(order)} samples, {self.samples} were planned")
        for step in range(first, self.steps):
            yield from self.of_step(order, step, rank, ranks)


def reference_of(malleable: "str | None", ranks: int, evenly: bool = True) -> int:
    """The most ranks that RINGRT_MALLEABLE ("MIN:MAX" or "MIN-MAX") allows: the largest MIN·2^k that is not above
    MAX. `ranks` if it is not set or is malformed, or if it is no multiple of `ranks` and must be distributed
    `evenly`."""
    try:
        low, high = (int(word) for word in (malleable or "").replace("-", ":").split(":")[:2])
    except ValueError:
        return ranks
    if not 0 < low <= high:
        return ranks
    while low * 2 <= high:
        low *= 2
    return low if low % ranks == 0 or not evenly else ranks


def seed_of(*numbers: int) -> int:
    """One 63-bit number from several (splitmix64's mixing)."""
    mixed = 0
    for number in numbers:
        mixed = (mixed ^ number) + 0x9E3779B97F4A7C15 & (1 << 64) - 1
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        mixed ^= mixed >> 31
    return mixed >> 1
