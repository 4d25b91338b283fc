# SPDX-License-Identifier: BSD-3-Clause
"""Adapts frameworks without an entry point, right after their modules are imported. Only in
malleable jobs. A failure prints one line and leaves the framework unchanged."""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

# The module to wait for: the module whose adapt(module) adapts it.
ADAPTERS = {
    "lightning.pytorch.trainer.trainer": "ringrt.torch.lightning",
    "pytorch_lightning.trainer.trainer": "ringrt.torch.lightning",
    "transformers.trainer": "ringrt.torch.hf_trainer",
    "submitit.core.job_environment": "ringrt.submitit",
}


def warn(why: "BaseException | str") -> None:
    """Prints one line, on rank 0 only."""
    if os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")) == "0":
        text = " ".join(str(why).split())
        name = f"{type(why).__name__}: " if isinstance(why, BaseException) else ""
        sys.stderr.write(f"ringrt: {name}{text}; this training is not malleable\n")


def adapt(module: ModuleType) -> None:
    try:
        importlib.import_module(ADAPTERS[module.__name__]).adapt(module)
    except Exception as error:
        warn(error)


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader  # as without this hook
        adapt(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in ADAPTERS:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def install() -> None:
    for name in ADAPTERS:
        if name in sys.modules:  # imported before torch, as submitit is
            adapt(sys.modules[name])
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
