# SPDX-License-Identifier: BSD-3-Clause
"""Registers the backend. torch calls register() when a program asks for "ringrt" (the entry point group
torch.distributed.backends); `import ringrt.torch` also calls it."""
from __future__ import annotations

from typing import Any, Optional

import torch
import torch.distributed as dist

NAME = "ringrt"


def why_not() -> Optional[str]:
    """Why this torch cannot have a backend that is written in Python, or None."""
    if hasattr(dist.Backend, "_ensure_backend_registered"):  # new with such backends
        return None
    return f"torch {torch.__version__} accepts no backend written in Python, 2.14.1 is the first that does"


def _create(store: Any, rank: int, size: int, timeout: Any) -> Any:
    why = why_not()
    if why:
        raise RuntimeError(f"the backend ringrt cannot be used: {why}")
    from .backend import ProcessGroupRingrt
    return ProcessGroupRingrt(store, rank, size, timeout)


def register() -> None:
    if dist.is_available() and NAME not in dist.Backend.backend_list:
        dist.Backend.register_backend(NAME, _create, devices=["cpu"])
