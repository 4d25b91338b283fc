# SPDX-License-Identifier: BSD-3-Clause
"""ringrt for PyTorch: malleable() for a plain loop, DistributedState for any mesh, and the backend "ringrt" of
torch.distributed."""
from typing import Any

from . import registration
from .grouping import plan_buckets
from .malleable import Malleable, malleable

registration.register()

__all__ = ["DistributedState", "Malleable", "malleable", "plan_buckets"]


def __getattr__(name: str) -> Any:
    if name == "DistributedState":  # its imports take a second
        from .distributed_state import DistributedState
        return DistributedState
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
