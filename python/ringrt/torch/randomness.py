# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers that depend only on the step and the worker. So a resumed run draws the same, and
a worker's dropout and augmentation are the same on every rank."""
from __future__ import annotations

import random
import sys

import torch


def seed_all(seed: int) -> None:
    """Seeds the generators of Python, NumPy (if imported) and torch, on all devices."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed & 0xFFFFFFFF)
    torch.manual_seed(seed)


class SeededIndices(list):
    """A batch's indices. They seed the generators of the process that fetches the batch (a
    DataLoader worker, or this one) when its samples are about to be read."""

    seed: int

    def __init__(self, indices, seed: int) -> None:
        super().__init__(indices)
        self.seed = seed

    def __iter__(self):
        seed_all(self.seed)
        return super().__iter__()

    def __reduce__(self):
        return SeededIndices, (list.copy(self), self.seed)
