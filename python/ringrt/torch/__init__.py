# SPDX-License-Identifier: BSD-3-Clause
"""ringrt for PyTorch: malleable() for a plain loop."""
from .malleable import Malleable, malleable

__all__ = ["Malleable", "malleable"]
