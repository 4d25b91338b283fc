# SPDX-License-Identifier: BSD-3-Clause
"""State that torch.distributed.checkpoint (DCP) saves and reshards, whatever mesh it is on: HSDP, tensor parallelism, or
both. For a loop of the program's own, with ringrt.Run."""
from __future__ import annotations

from typing import Any, Mapping

from ..state import State
from . import dcp


class DistributedState(State):
    """Parts by name: what checkpoint.save() takes, so objects with state_dict() and load_state_dict() (Stateful),
    DTensors, tensors and dicts of them.

        with ringrt.Run(DistributedState({"app": app}), steps=10000) as run: ...

    Collective. After a resize the parts may be on another mesh: DCP reads what each rank needs. An optimizer that has
    made no step has no state to read into: `app` gets it by get_state_dict() and set_state_dict() of
    torch.distributed.checkpoint.state_dict, which make it. Values that are not tensors are saved by rank 0."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self.parts = dict(parts)

    def save(self, rank: int, directory: str) -> None:
        dcp.save(self.parts, directory)

    def load(self, directory: str) -> None:
        dcp.load(self.parts, directory)
