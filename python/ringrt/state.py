# SPDX-License-Identifier: BSD-3-Clause
"""A program's state as one file in a checkpoint: rank 0 writes it, every rank reads it."""
from __future__ import annotations

import os
import pickle
from typing import Any, Mapping

FILE = "state"


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array_interface__") and hasattr(value, "flags")


def _kind(name: str, value: Any) -> str:
    """How `value` is saved, and restored in place."""
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return "stateful"
    if hasattr(value, "copy_") and hasattr(value, "detach"):
        return "tensor"
    if _is_array(value):
        return "array"
    if isinstance(value, dict):
        return "dict"
    if isinstance(value, list):
        return "list"
    raise TypeError(f"state[{name!r}] is a {type(value).__name__}, which cannot be restored in place: "
                    "put it into a dict")


class State:
    """Named parts, the same on all ranks: objects with state_dict() and load_state_dict(), NumPy arrays, tensors,
    and dicts and lists of picklable values. They are restored in place."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self.parts = dict(parts)
        for name, value in self.parts.items():
            _kind(name, value)

    def content(self) -> dict[str, Any]:
        out = {}
        for name, value in self.parts.items():
            kind = _kind(name, value)
            out[name] = value.state_dict() if kind == "stateful" else value.detach() if kind == "tensor" else value
        return out

    def fill(self, content: Mapping[str, Any]) -> None:
        missing = sorted(set(self.parts) ^ set(content))
        if missing:
            raise ValueError(f"the checkpoint and the program's state differ in {', '.join(missing)}")
        for name, saved in content.items():
            value = self.parts[name]
            kind = _kind(name, value)
            if kind == "stateful":
                value.load_state_dict(saved)
            elif kind == "tensor":
                value.detach().copy_(saved)
            elif kind == "dict":
                value.clear()
                value.update(saved)
            else:  # an array or a list
                if kind == "array" and value.shape != saved.shape:
                    raise ValueError(f"{name} has shape {saved.shape} in the checkpoint, {value.shape} here")
                value[... if kind == "array" else slice(None)] = saved

    # How an object is written and read; ringrt.torch overrides it.
    def write(self, content: Any, path: str) -> None:
        with open(path, "xb") as file:
            pickle.dump(content, file, protocol=pickle.HIGHEST_PROTOCOL)

    def read(self, path: str) -> Any:
        with open(path, "rb") as file:  # the job's own file, checked by its hash
            return pickle.load(file)

    def save(self, rank: int, directory: str) -> None:
        if rank == 0:
            self.write(self.content(), os.path.join(directory, FILE))

    def load(self, directory: str) -> None:
        self.fill(self.read(os.path.join(directory, FILE)))
