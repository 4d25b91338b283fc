# SPDX-License-Identifier: BSD-3-Clause
"""Converts tensors to what the library takes: dense memory of a type that it adds. Other types are reduced as one
that gives the same result, or refused."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
import torch.distributed as dist

from ..errors import Unsupported
from ..types import Dtype, Op

INT64, BYTE = Dtype.INT64, Dtype.UINT8
_DTYPES = {torch.float32: Dtype.FLOAT32, torch.float64: Dtype.FLOAT64, torch.float16: Dtype.FLOAT16,
           torch.bfloat16: Dtype.BFLOAT16, torch.int32: Dtype.INT32, torch.int64: Dtype.INT64, torch.uint8: Dtype.UINT8,
           torch.int8: Dtype.INT8, torch.bool: Dtype.BOOL, torch.float8_e4m3fn: Dtype.FLOAT8_E4M3,
           torch.float8_e5m2: Dtype.FLOAT8_E5M2, torch.uint32: Dtype.UINT32, torch.uint64: Dtype.UINT64}
_STAND_INS = {torch.int16: torch.int32, torch.complex64: torch.float32, torch.complex128: torch.float64}
# The library divides a sum that has wrapped around.
_STAND_INS_OF_AVG = {**_STAND_INS, torch.uint8: torch.int32, torch.int8: torch.int32}
_OPS = {"SUM": Op.SUM, "AVG": Op.AVG, "MIN": Op.MIN, "MAX": Op.MAX, "PRODUCT": Op.PROD}
_OPS_OF_BOOL = {"SUM": Op.MAX, "MAX": Op.MAX, "BOR": Op.MAX, "MIN": Op.MIN, "PRODUCT": Op.MIN, "BAND": Op.MIN}
_OPS_OF_COMPLEX = {"SUM": Op.SUM, "AVG": Op.AVG}


class Reduction(NamedTuple):
    stand_in: torch.dtype
    dtype: int
    op: int
    factor: Any = None  # of this rank's values, a number or a tensor of one element; None: 1

    def values(self, tensor: torch.Tensor) -> torch.Tensor:
        """What the library reduces for the tensor: its own memory if possible."""
        values = dense(tensor, self.stand_in)
        return values if self.factor is None else values * self.factor


def _name_of(op: object) -> str:
    for name in ("SUM", "AVG", "MIN", "MAX", "PRODUCT", "BAND", "BOR", "BXOR"):
        if op == getattr(dist.ReduceOp, name):
            return name
    return "PREMUL_SUM"


def _premultiplied(dtype: torch.dtype, op: Any) -> Reduction:
    """torch has no other access to the factor than what an operation is pickled as."""
    if not dtype.is_floating_point or dtype not in _DTYPES:
        raise Unsupported(f"the backend ringrt has no PREMUL_SUM of {dtype}")
    return Reduction(dtype, _DTYPES[dtype], Op.SUM, op.__getstate__()[1])


def reduction(dtype: torch.dtype, op: object) -> Reduction:
    name = _name_of(op)
    if name == "PREMUL_SUM":
        return _premultiplied(dtype, op)
    stand_in = (_STAND_INS_OF_AVG if name == "AVG" else _STAND_INS).get(dtype, dtype)
    ops = _OPS_OF_BOOL if dtype is torch.bool else _OPS_OF_COMPLEX if dtype.is_complex else _OPS
    if stand_in not in _DTYPES or name not in ops:
        raise Unsupported(f"the backend ringrt has no {name} of {dtype}")
    return Reduction(stand_in, _DTYPES[stand_in], ops[name])


def dense(tensor: torch.Tensor, stand_in: "Optional[torch.dtype]" = None) -> torch.Tensor:
    """The tensor's values in dense memory: its own memory if possible."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if stand_in is None or stand_in is tensor.dtype:
        return tensor
    return torch.view_as_real(tensor) if tensor.dtype.is_complex else tensor.to(stand_in)


def put_back(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Copies back the values of dense(), which the library has filled."""
    if values.data_ptr() == tensor.data_ptr():
        return
    if tensor.dtype.is_complex and not values.dtype.is_complex:
        values = torch.view_as_complex(values)
    tensor.detach().copy_(values)


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return dense(tensor).reshape(-1).view(torch.uint8)


def from_bytes(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Fills the tensor from as_bytes() of a tensor like it."""
    if values.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(values.view(tensor.dtype).reshape(tensor.shape))


def bytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
