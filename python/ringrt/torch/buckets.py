# SPDX-License-Identifier: BSD-3-Clause
"""How DistributedDataParallel should group gradients. PURE: only numbers; no torch.

DDP adds whole gradients in *buckets*, in ready order, and waits for the last bucket before the optimizer's step.
On a link that takes `start_s + bytes · byte_s` for each bucket, in sequence,

    end(bucket) = max(end(previous), its last gradient is ready) + start_s + its bytes · byte_s

The buckets with the earliest last end are found exactly: the best end of the first j gradients is the best over
i < j of a bucket i..j after the best of the first i. (libringrt's own reduction may cut gradients and needs no
barrier, so its plans are better: doc/grouping.md. These are the best that DDP can follow.)"""
from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import Iterable, Sequence

MIB = 1 << 20


@dataclass(frozen=True)
class Link:
    """The cost of an all_reduce over the ranks."""

    start_s: float
    byte_s: float

    def takes(self, size: float) -> float:
        return self.start_s + size * self.byte_s


def fit_link(measured: "Iterable[tuple[int, float]]") -> Link:
    """Fits (bytes, seconds) by least squares of relative errors: small sizes determine the start's cost."""
    pairs = list(measured)
    weights = [1.0 / seconds ** 2 for _, seconds in pairs]
    total = sum(weights)
    mean_size = sum(w * size for w, (size, _) in zip(weights, pairs)) / total
    mean_time = sum(w * seconds for w, (_, seconds) in zip(weights, pairs)) / total
    spread = sum(w * (size - mean_size) ** 2 for w, (size, _) in zip(weights, pairs))
    slope = sum(w * (size - mean_size) * (seconds - mean_time) for w, (size, seconds) in zip(weights, pairs)) / spread
    if slope <= 0:  # only the start's cost was visible
        return Link(mean_time, 0.0)
    return Link(max(0.0, mean_time - slope * mean_size), slope)


@dataclass(frozen=True)
class Gradient:
    size: int  # bytes
    ready_s: float  # from any fixed moment of the backward pass


def in_ready_order(gradients: "Iterable[Gradient]") -> "list[Gradient]":
    return sorted(gradients, key=lambda gradient: gradient.ready_s)


def last_end(gradients: "Sequence[Gradient]", sizes: "Iterable[int]", link: Link) -> float:
    """When the last bucket is added. `sizes`: bytes of each; buckets end where gradients end."""
    end, index = float("-inf"), 0
    for size in sizes:
        left, ready = size, float("-inf")
        while left > 0:
            left, ready = left - gradients[index].size, max(ready, gradients[index].ready_s)
            index += 1
        end = max(end, ready) + link.takes(size)
    return end


def sizes_under(gradients: "Sequence[Gradient]", limits: "Sequence[int]") -> "list[int]":
    """The buckets that DDP makes: the gradient that fills a bucket to its limit closes it. The last limit applies
    to all later buckets."""
    sizes: "list[int]" = []
    filled = 0
    for gradient in gradients:
        filled += gradient.size
        if filled >= limits[min(len(sizes), len(limits) - 1)]:
            sizes.append(filled)
            filled = 0
    return sizes + [filled] if filled else sizes


def best_sizes(gradients: "Sequence[Gradient]", link: Link) -> "list[int]":
    """Bytes of each bucket; `gradients` in ready order. Linear time."""
    before = [0]  # bytes of the first i gradients
    for gradient in gradients:
        before.append(before[-1] + gradient.size)
    best, chosen = [float("-inf")], [0]  # the earliest end of the first j, and where its last bucket begins
    waiting: "deque[int]" = deque()  # starts i with best[i] after the ready time; cheapest first

    def cost(i: int) -> float:
        return best[i] - before[i] * link.byte_s

    for j, gradient in enumerate(gradients, 1):
        if j > 1:
            while waiting and cost(waiting[-1]) >= cost(j - 1):
                waiting.pop()
            waiting.append(j - 1)
        free = bisect_right(best, gradient.ready_s) - 1  # the last start at which the link is free by then
        while waiting and waiting[0] <= free:
            waiting.popleft()
        options = [(max(best[i], gradient.ready_s) + link.takes(before[j] - before[i]), i)
                   for i in ([free] if free >= 0 else []) + ([waiting[0]] if waiting else [])]
        end, begin = min(options)
        best.append(end)
        chosen.append(begin)
    sizes, j = [], len(gradients)
    while j > 0:
        sizes.append(before[j] - before[chosen[j]])
        j = chosen[j]
    return sizes[::-1]


def best_limit(gradients: "Sequence[Gradient]", link: Link) -> int:
    """The best single limit for all buckets, for a DDP that takes no list."""
    total = sum(gradient.size for gradient in gradients)
    limits = [limit for limit in (MIB // 4 << power for power in range(14)) if limit < total] + [total]
    return min(limits, key=lambda limit: last_end(gradients, sizes_under(gradients, [limit]), link))
