# SPDX-License-Identifier: BSD-3-Clause
"""Changes the mesh of a model that fully_shard() (FSDP2) has wrapped. PyTorch has no call for it: a second
fully_shard() of a module is refused. So what FSDP2's constructor did for each parameter is done again, on a parameter
without memory, and the result is put into the program's own Parameter. So the program's model, its parameters and
its optimizer's groups remain the same objects, and no rank ever holds a whole parameter for it."""
from __future__ import annotations

from typing import Any, Iterator, Optional

import torch


def _groups(model: torch.nn.Module) -> "Iterator[Any]":
    """FSDP2's groups of parameters, each once: fully_shard([a, b]) gives two modules one state."""
    from torch.distributed.fsdp import FSDPModule
    seen = set()
    for module in model.modules():
        if isinstance(module, FSDPModule):
            for group in module._get_fsdp_state()._fsdp_param_groups:
                if id(group) not in seen:
                    seen.add(id(group))
                    yield group


def _why_not_group(group: Any) -> Optional[str]:
    from torch.distributed.fsdp._fully_shard._fsdp_common import FSDPMeshInfo
    from torch.distributed.tensor import Shard
    if type(group.mesh_info) is not FSDPMeshInfo:
        return "its mesh replicates parameters"
    if group.post_forward_mesh_info is not None and group.post_forward_mesh_info != group.mesh_info:
        return "reshard_after_forward is a number"
    if getattr(group.mesh_info, "reduce_scatter_process_group", None) is not None:
        return "it has a process group of its own for reduce_scatter"
    if getattr(group, "_all_reduce_hook", None) is not None:
        return "it has a hook for all_reduce"
    for name in ("_all_gather_comm", "_reduce_scatter_comm"):
        if not type(getattr(group, name, None)).__name__.startswith("Default"):
            return "it has communication of its own"
    for one in group.fsdp_params:
        if one.is_dtensor or getattr(one, "is_spmd_types", False):
            return "a parameter is on another mesh too"
        if one.fsdp_placement != Shard(0):
            return f"a parameter is divided along dimension {one.fsdp_placement.dim}"
        if one.offload_to_cpu:
            return "it has an offload policy"
        if type(one.sharded_param._local_tensor) is not torch.Tensor:
            return f"a parameter is a {type(one.sharded_param._local_tensor).__name__}"
        if getattr(one, "_has_sharded_grad_dtype_override", False):
            return "a parameter has a grad_dtype"
    return None


def why_not(model: torch.nn.Module) -> Optional[str]:
    """Why remesh() cannot change this model, or None."""
    try:
        return next((why for group in _groups(model) for why in (_why_not_group(group),) if why), None)
    except (AttributeError, ImportError):  # FSDP2's insides, not its API
        return f"the FSDP2 of torch {torch.__version__} is not known"


def make_mesh(group: Any) -> Any:
    """The mesh of all ranks of a process group. DTensor keeps what it planned for equal meshes, and with it the mesh. So
    two meshes of equal size, whose groups differ, must differ too: by the name of their dimension."""
    from torch.distributed.device_mesh import DeviceMesh
    return DeviceMesh.from_group(group, "cpu", mesh_dim_names=(group.group_name,))


def _remesh_param(one: Any, group: Any) -> None:
    kept = one.sharded_param
    whole = torch.nn.Parameter(torch.empty(one._orig_size, dtype=kept.dtype, device="meta"),
                               requires_grad=kept.requires_grad)
    if hasattr(one, "_orig_param_uid"):  # by which FSDP2 finds parameters of two groups
        setattr(whole, "_fsdp_orig_uid", one._orig_param_uid)
    one.post_forward_mesh_info = group.post_forward_mesh_info
    one._init_sharded_param(whole, group.device, None, group.mesh_info)
    if one.post_forward_mesh_info is not None:
        one._init_sharded_post_forward_param_metadata(whole)
    made = one.sharded_param
    padded = torch.zeros(one.padded_sharded_param_size, dtype=kept.dtype, device=group.device)
    kept.grad = None
    kept._local_tensor = padded.narrow(0, 0, made._local_tensor.shape[0] if made._local_tensor.numel() else 0)
    kept._spec = made._spec
    one.sharded_param, one._sharded_param_data = kept, padded.view(-1)
    one._setattr_on_modules(kept)
    one.all_gather_outputs, one._unsharded_inner_tensors = [], []  # their size depends on the number of ranks
    if hasattr(one, "_unsharded_param"):
        del one._unsharded_param


def remesh(model: torch.nn.Module, mesh: Any) -> None:
    """Between two steps. Afterwards every parameter is zero; its gradient is None. Not collective."""
    from torch.distributed.fsdp._fully_shard._fsdp_common import FSDPMeshInfo
    with torch.no_grad():
        info = FSDPMeshInfo(mesh, shard_mesh_dim=0)
        for group in _groups(model):
            if group._all_gather_result is not None:  # prefetched by a forward pass that did not come
                group.wait_for_unshard()
            group.reshard()
            group.mesh_info = info
            if group.post_forward_mesh_info is not None:
                group.post_forward_mesh_info = info
            for one in group.fsdp_params:
                _remesh_param(one, group)
