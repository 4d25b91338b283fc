# SPDX-License-Identifier: BSD-3-Clause
"""FSDP2: a model that fully_shard() has wrapped. Each rank has a shard of every parameter and of its optimizer
state, as DTensors. torch.distributed.checkpoint (DCP) saves each rank's shards and reshards them for the number
of ranks that loads them. Rank 0 saves all other state, in the usual file."""
from __future__ import annotations

import copy
import os
import sys
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import torch

from ..state import FILE
from .state import TorchState


class Piece(NamedTuple):
    """Replaces a DTensor, which DCP saves, in the state's file."""

    shape: "tuple[int, ...]"
    dtype: torch.dtype
    placements: "tuple[Any, ...]"


def is_dtensor(value: Any) -> bool:
    module = sys.modules.get("torch.distributed.tensor")  # not imported: no DTensor exists
    return module is not None and isinstance(value, module.DTensor)


def is_sharded(model: torch.nn.Module) -> bool:
    return any(is_dtensor(parameter) for parameter in model.parameters())


def _mesh(dtensor: Any) -> Any:
    return dtensor.device_mesh


def mesh_of(model: torch.nn.Module, ranks: int) -> Any:
    """The mesh over which the model is sharded: fully_shard()'s default, or ValueError."""
    from torch.distributed.fsdp import FSDPModule
    if not any(isinstance(module, FSDPModule) for module in model.modules()):
        raise ValueError("model has DTensors that are not of fully_shard(): malleable() does not resize tensor parallelism; "
                         "ringrt.Run with ringrt.torch.DistributedState does")
    mesh = next(_mesh(parameter) for parameter in model.parameters() if is_dtensor(parameter))
    for name, parameter in model.named_parameters():
        if is_dtensor(parameter):
            shape = tuple(_mesh(parameter).shape)
            if shape != (ranks,):
                raise ValueError(f"the mesh of {name} is {' x '.join(map(str, shape))}, there are {ranks} ranks: "
                                 "malleable() takes fully_shard()'s default mesh, of one dimension over all ranks; "
                                 "ringrt.Run with ringrt.torch.DistributedState takes any")
        elif parameter.requires_grad:
            raise ValueError(f"{name} is in no module that fully_shard() has wrapped: its gradients would "
                             "not be exchanged; wrap the whole model as well")
    return mesh


def _mapped(value: Any, name: str, function: "Callable[[str, Any], Any]") -> Any:
    """A copy of `value` with function(name, leaf) for each leaf, in containers of the same kind."""
    def inner(key: Any, one: Any) -> Any:
        return _mapped(one, f"{name}.{key}" if name else str(key), function)

    if isinstance(value, dict):
        out: Any = copy.copy(value)
        for key, one in value.items():
            out[key] = inner(key, one)
        if hasattr(value, "_metadata"):  # versions of a module's state; an OrderedDict's copy has none
            out._metadata = value._metadata
        return out
    if isinstance(value, (list, tuple)) and not isinstance(value, Piece):
        items = [inner(i, one) for i, one in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return function(name, value)


def taken_apart(content: Any) -> "tuple[Any, dict[str, Any]]":
    """The content with a Piece for each DTensor, and the DTensors by name."""
    shards: "dict[str, Any]" = {}

    def take_out(name: str, leaf: Any) -> Any:
        if not is_dtensor(leaf):
            return leaf
        shards[name] = leaf.detach()
        return Piece(tuple(leaf.shape), leaf.dtype, tuple(leaf.placements))

    return _mapped(content, "", take_out), shards


def put_together(content: Any, make: "Callable[[str, Piece], Any]") -> Any:
    """The content with a DTensor for each Piece."""
    return _mapped(content, "", lambda name, leaf: make(name, leaf) if isinstance(leaf, Piece) else leaf)


def pieces_of(content: Any) -> "dict[str, Piece]":
    pieces: "dict[str, Piece]" = {}
    put_together(content, pieces.__setitem__)
    return pieces


class ShardedState(TorchState):
    """Unlike a State, collective: every rank saves and loads."""

    def __init__(self, parts: Mapping[str, Any], mesh: Any) -> None:
        super().__init__(parts)
        self.mesh = mesh  # the program's own, of this job's ranks

    def save(self, rank: int, directory: str) -> None:
        self.save_parts(rank, directory, *taken_apart(self.content()))

    def save_parts(self, rank: int, directory: str, content: Any, shards: "dict[str, Any]") -> None:
        from . import dcp  # its imports take a second
        dcp.save(shards, directory, self.mesh.get_group())
        if rank == 0:
            self.write(content, os.path.join(directory, FILE))

    def load(self, directory: str) -> None:
        from torch.distributed import tensor

        from . import dcp
        shards: "dict[str, Any]" = {}

        def make(name: str, piece: Piece) -> Any:
            shards[name] = tensor.empty(piece.shape, dtype=piece.dtype, device_mesh=self.mesh,
                                        placements=piece.placements)
            return shards[name]

        content = put_together(self.read(os.path.join(directory, FILE)), make)
        dcp.load(shards, directory)
        self.fill(content)


class ShardedGradientScale:
    """GradientScale on the whole parameters of a forward pass: a rank's shard gets its gradient only after the
    reduction over the ranks."""

    def __init__(self, model: torch.nn.Module) -> None:
        from torch.distributed.fsdp import FSDPModule
        self._scale = 1.0
        self._hooked: "dict[int, torch.Tensor]" = {}
        for module in model.modules():
            if isinstance(module, FSDPModule):  # after its own hook, which gathers the parameters
                module.register_forward_pre_hook(self._hook_parameters)

    def set(self, scale: float) -> None:
        self._scale = scale

    def forget(self) -> None:
        """Call when the whole parameters are other objects."""
        self._hooked = {}

    def _hook_parameters(self, module: torch.nn.Module, _arguments: Any) -> None:
        if self._scale == 1.0:
            return
        for parameter in module.parameters():
            # FSDP2 keeps these objects and refills their memory.
            if parameter.requires_grad and not is_dtensor(parameter) and id(parameter) not in self._hooked:
                self._hooked[id(parameter)] = parameter
                parameter.register_hook(lambda gradient: gradient if self._scale == 1.0 else gradient * self._scale)
