# SPDX-License-Identifier: BSD-3-Clause
"""ringrt for PyTorch: malleable() for a plain loop, and the backend "ringrt" of torch.distributed."""
from . import registration
from .grouping import plan_buckets
from .malleable import Malleable, malleable

registration.register()

__all__ = ["Malleable", "malleable", "plan_buckets"]
