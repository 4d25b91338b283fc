# SPDX-License-Identifier: BSD-3-Clause
"""The training's state as a torch.save() file."""
from __future__ import annotations

from typing import Any

import torch

from ..state import State


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The module inside DistributedDataParallel and torch.compile: a script may wrap it only at some sizes."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and isinstance(model, torch.nn.parallel.DistributedDataParallel):
            inner = model.module
        if inner is None:
            return model
        model = inner


class TorchState(State):
    def write(self, content: Any, path: str) -> None:
        torch.save(content, path)

    def read(self, path: str) -> Any:
        # The job's own file, checked by its hash; schedulers and optimizers may hold any class.
        return torch.load(path, map_location="cpu", weights_only=False)
