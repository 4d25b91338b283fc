# SPDX-License-Identifier: BSD-3-Clause
"""The training's state as bytes in memory, for ranks that join: pickle for the tree, and the tensors' own memory,
which is not copied. It is unpickled, so it is only for ranks that may also read the checkpoint."""
from __future__ import annotations

import ctypes
import io
import pickle
import struct
from typing import Any

import torch

_SMALL = 16384  # a tensor of at most this many bytes is copied with the tree
_BEGINNING = struct.Struct("<QQ")  # bytes of the tree, and of the small tensors


def _memory(address: int, count: int) -> memoryview:
    return memoryview((ctypes.c_char * count).from_address(address)).cast("B") if count else memoryview(b"")


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, packed: "Packed") -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._packed = packed

    def persistent_id(self, value: Any) -> Any:
        if type(value) is not torch.Tensor or value.device.type != "cpu" or value.layout is not torch.strided \
                or value.is_quantized:
            return None
        return self._packed.add(value)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, small: int, large: int, end: int) -> None:
        super().__init__(file)
        self._small, self._large, self._end = small, large, end

    def persistent_load(self, key: Any) -> torch.Tensor:
        is_large, offset, count, dtype, shape = key
        address = (self._large if is_large else self._small) + offset
        if offset < 0 or count < 0 or address + count > self._end:
            raise ValueError("a packed state is incomplete")
        tensor = torch.empty(shape, dtype=dtype)
        if tensor.numel() * tensor.element_size() != count:
            raise ValueError("a packed tensor does not have its declared size")
        ctypes.memmove(tensor.data_ptr(), address, count)
        return tensor


class Packed:
    """One state. Its pieces are the tensors' memory, with the content at the time of reading."""

    def __init__(self, content: Any) -> None:
        self._kept: "list[Any]" = []  # owns the memory
        self._small, self._large = bytearray(), 0
        self.pieces: "list[tuple[int, int]]" = []
        tree = io.BytesIO()
        _Pickler(tree, self).dump(content)
        head = _BEGINNING.pack(tree.tell(), len(self._small)) + tree.getvalue() + self._small
        kept = ctypes.create_string_buffer(head, len(head))
        self._kept.append(kept)
        self.pieces.insert(0, (ctypes.addressof(kept), len(head)))

    def add(self, value: torch.Tensor) -> Any:
        dense = value.detach().resolve_conj().resolve_neg().contiguous()
        count = dense.numel() * dense.element_size()
        is_large = count > _SMALL
        key = (is_large, self._large if is_large else len(self._small), count, dense.dtype, tuple(dense.shape))
        if is_large:
            self._kept.append(dense)
            self.pieces.append((dense.data_ptr(), count))
            self._large += count
        elif count:
            self._small += _memory(dense.data_ptr(), count)
        return key

    def copy(self) -> bytes:
        """The current content of the pieces."""
        return b"".join(bytes(_memory(*piece)) for piece in self.pieces)


def unpacked(address: int, count: int) -> Any:
    """The content given to Packed(), in new tensors."""
    if count < _BEGINNING.size:
        raise ValueError("a packed state is incomplete")
    tree, small = _BEGINNING.unpack(ctypes.string_at(address, _BEGINNING.size))
    begin = address + _BEGINNING.size
    if tree + small > count - _BEGINNING.size:
        raise ValueError("a packed state is incomplete")
    return _Unpickler(io.BytesIO(ctypes.string_at(begin, tree)), begin + tree, begin + tree + small,
                      address + count).load()


def unpacked_bytes(packed: bytes) -> Any:
    kept = ctypes.create_string_buffer(packed, len(packed))
    return unpacked(ctypes.addressof(kept), len(packed))
