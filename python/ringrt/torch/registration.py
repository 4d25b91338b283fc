# SPDX-License-Identifier: BSD-3-Clause
"""Registers the backend. torch calls register() when a program asks for "ringrt" (the entry point group
torch.distributed.backends); `import ringrt.torch` also calls it."""
from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

NAME = "ringrt"


def _create(store: Any, rank: int, size: int, timeout: Any) -> Any:
    if not hasattr(dist.Backend, "_ensure_backend_registered"):  # new with backends in Python
        raise RuntimeError(f"the backend ringrt needs torch 2.14.1 or a newer one, this is {torch.__version__}")
    from .backend import ProcessGroupRingrt
    return ProcessGroupRingrt(store, rank, size, timeout)


def register() -> None:
    if dist.is_available() and NAME not in dist.Backend.backend_list:
        dist.Backend.register_backend(NAME, _create, devices=["cpu"])
