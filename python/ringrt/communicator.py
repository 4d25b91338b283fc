# SPDX-License-Identifier: BSD-3-Clause
"""A ringrt_comm_t: collectives without a training job. Counts, buffers in place and errors are as in ringrt_comm.h."""
from __future__ import annotations

import ctypes
import os
import traceback
from types import TracebackType
from typing import Any, Callable, Optional, Tuple, Type

from .errors import OK, error_of
from .handle import ranks_from_environment
from .library import CommConfig, Store, StoreGet, StorePut, library
from .types import Dtype, Op

Put = Callable[[str, bytes], None]
Message = Tuple[int, int, int]  # address, count, peer
Get = Callable[[str, int], bytes]  # waits for a key, at most this many milliseconds


# Of the formats of Python's buffers, and of NumPy's.
FORMATS = {"f": Dtype.FLOAT32, "d": Dtype.FLOAT64, "e": Dtype.FLOAT16, "i": Dtype.INT32, "q": Dtype.INT64,
           "l": Dtype.INT64, "I": Dtype.UINT32, "Q": Dtype.UINT64, "L": Dtype.UINT64, "B": Dtype.UINT8,
           "b": Dtype.INT8, "?": Dtype.BOOL}


class Communicator:
    """The ranks that call the same collectives in the same order.

    .. code:: python

        with ringrt.Communicator() as comm:
            comm.sum(gradients)

    The constructor connects the ranks. The end of the ``with`` block is :meth:`destroy`, which waits for all ranks,
    or after an exception :meth:`discard`, which waits for none.

    Args:
        rank, size: This rank and their number. With size 0 they come from the environment (srun, torchrun).
        put, get: Carry one short text from rank 0 to the others: rank 0 calls ``put(key, value)``, each other rank
            ``get(key, timeout_ms)``. Without them the ranks meet in a file.
        timeout_ms: Of one operation without progress, and of the start; 0: the environment's, or the library's.
    """

    def __init__(self, rank: int = 0, size: int = 0, put: Optional[Put] = None, get: Optional[Get] = None,
                 timeout_ms: int = 0) -> None:
        self._library = library()
        self._comm = ctypes.c_void_p()
        ranks = {"rank": rank, "size": size} if size else ranks_from_environment()
        config = CommConfig(struct_size=ctypes.sizeof(CommConfig), timeout_ms=timeout_ms, start_timeout_ms=timeout_ms,
                            **ranks)
        if put and get:
            store = Store(None, StorePut(_put_function(put)), StoreGet(_get_function(get)))
            config.store = ctypes.pointer(store)
        self._check(self._library.ringrt_comm_create(ctypes.byref(self._comm), ctypes.byref(config)), None)

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], _value: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        if kind is None:
            self.destroy()
        else:
            self.discard()

    @classmethod
    def over(cls, comm: ctypes.c_void_p) -> "Communicator":
        """That holds a ringrt_comm_t of the library's making."""
        made = cls.__new__(cls)
        made._library, made._comm = library(), comm
        return made

    @property
    def pointer(self) -> ctypes.c_void_p:
        """The ringrt_comm_t."""
        return self._comm

    @property
    def rank(self) -> int:
        return self._library.ringrt_comm_rank(self._comm)

    @property
    def size(self) -> int:
        return self._library.ringrt_comm_size(self._comm)

    def _check(self, status: int, comm: object) -> None:
        if status != OK:
            raise error_of(status, os.fsdecode(self._library.ringrt_comm_last_error(comm)))

    def _run(self, name: str, *arguments: object) -> None:
        self._check(getattr(self._library, name)(*arguments, self._comm, None), self._comm)

    # ---- on addresses: dtype is a Dtype, op an Op -----------------------------------------------

    def allreduce(self, send: int, recv: int, count: int, dtype: int, op: int) -> None:
        self._run("ringrt_comm_allreduce", send, recv, count, dtype, op)

    def reduce(self, send: int, recv: int, count: int, dtype: int, op: int, root: int) -> None:
        self._run("ringrt_comm_reduce", send, recv, count, dtype, op, root)

    def reduce_scatter(self, send: int, recv: int, count: int, dtype: int, op: int) -> None:
        self._run("ringrt_comm_reduce_scatter", send, recv, count, dtype, op)

    def allgather(self, send: int, recv: int, count: int, dtype: int) -> None:
        self._run("ringrt_comm_allgather", send, recv, count, dtype)

    def broadcast(self, buffer: int, count: int, dtype: int, root: int) -> None:
        self._run("ringrt_comm_broadcast", buffer, buffer, count, dtype, root)

    def alltoall(self, send: int, recv: int, count: int, dtype: int) -> None:
        self._run("ringrt_comm_alltoall", send, recv, count, dtype)

    def gather(self, send: int, recv: int, count: int, dtype: int, root: int) -> None:
        self._run("ringrt_comm_gather", send, recv, count, dtype, root)

    def scatter(self, send: int, recv: int, count: int, dtype: int, root: int) -> None:
        self._run("ringrt_comm_scatter", send, recv, count, dtype, root)

    def exchange(self, sends: "list[Message]", recvs: "list[Message]", dtype: int) -> None:
        """Sends and receives all messages concurrently."""
        self._check(self._library.ringrt_comm_group_start(self._comm), self._comm)
        for name, messages in (("ringrt_comm_send", sends), ("ringrt_comm_recv", recvs)):
            for address, count, peer in messages:
                # A refused message is reported at the group's end.
                getattr(self._library, name)(address, count, dtype, peer, 0, self._comm, None)
        self._check(self._library.ringrt_comm_group_end(self._comm, None), self._comm)

    def barrier(self) -> None:
        self._run("ringrt_comm_barrier")

    # ---- on objects with a buffer, such as NumPy's arrays --------------------------------------

    def sum(self, array: Any) -> None:
        """Replaces each element by its sum over the ranks, which is bit-identical on all of them."""
        with memoryview(array) as view:
            dtype = FORMATS.get(view.format)
            if dtype is None:
                raise TypeError(f"ringrt sums no elements of format {view.format!r}")
            address = _address_of(view)
            self.allreduce(address, address, view.nbytes // view.itemsize, dtype, Op.SUM)

    def copy(self, array: Any, root: int) -> None:
        """Replaces the bytes by those of rank `root`."""
        with memoryview(array) as view:
            self.broadcast(_address_of(view), view.nbytes, Dtype.UINT8, root)

    def copy_bytes(self, data: bytes, root: int) -> bytes:
        """Returns what rank `root` passes, of any length: a pickled object."""
        count = (ctypes.c_uint64 * 1)(len(data))
        self.copy(count, root)
        out = bytearray(data) if self.rank == root else bytearray(count[0])
        if out:
            self.copy(out, root)
        return bytes(out)

    def alloc(self, count: int) -> int:
        out = ctypes.c_void_p()
        self._check(self._library.ringrt_comm_mem_alloc(self._comm, count, ctypes.byref(out)), self._comm)
        return out.value or 0

    def free(self, memory: int) -> None:
        self._check(self._library.ringrt_comm_mem_free(self._comm, memory), self._comm)

    def abort(self) -> None:
        """Makes the peers' calls fail at once. May be called from any thread."""
        self._library.ringrt_comm_abort(self._comm)

    def replace(self, comm: ctypes.c_void_p) -> None:
        """Discards the ranks, and holds another ringrt_comm_t of the library's making."""
        self.discard()
        self._comm = comm

    def discard(self) -> None:
        """Closes it without waiting for any rank; the peers' calls on it fail. Does nothing if it is closed."""
        comm, self._comm = self._comm, ctypes.c_void_p()
        if comm:
            self._library.ringrt_comm_abort(comm)
            self._library.ringrt_comm_destroy(comm)

    def destroy(self) -> None:
        """Closes it when all ranks have called this. Does nothing if it is closed."""
        comm, self._comm = self._comm, ctypes.c_void_p()
        self._check(self._library.ringrt_comm_destroy(comm), None)


def _address_of(view: memoryview) -> int:
    if not view.c_contiguous or view.readonly:
        raise ValueError("ringrt needs a buffer that is contiguous and can be written")
    return ctypes.addressof(ctypes.c_char.from_buffer(view)) if view.nbytes else 0


def _put_function(put: Put):
    def call(_context, key, value):
        try:
            put(os.fsdecode(key), value)
            return 0
        except BaseException:  # no exception may pass through the library's frames
            traceback.print_exc()
            return 1

    return call


def _get_function(get: Get):
    def call(_context, key, value, count, timeout_ms):
        try:
            text = get(os.fsdecode(key), timeout_ms)[: count - 1] + b"\0"
            ctypes.memmove(value, text, len(text))
            return 0
        except BaseException:
            traceback.print_exc()
            return 1

    return call
