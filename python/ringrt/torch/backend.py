# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed's backend "ringrt" for tensors in ordinary memory: init_process_group("ringrt"), or
"cpu:ringrt,cuda:nccl". Nothing is compiled against torch; it needs torch 2.14.1, where a backend may be
written in Python."""
from __future__ import annotations

import ctypes
import itertools
import logging
import threading
import weakref
from typing import Any, Callable, Optional, Sequence

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from ..errors import Error, InvalidArgument, Unsupported
from ..handle import Handle
from .elements import BYTE, as_bytes, bytes_of, dense, from_bytes, put_back, reduction
from .work import Work, WorkQueue

NAME = "ringrt"
_TIMEOUT_MS_MAX = 86400000
_GOODBYE_S = 10  # for which shutdown() waits for the others

Tensors = "list[torch.Tensor]"


def gather_over_store(store: Any, rank: int, size: int) -> "Callable[[bytes], list[bytes]]":
    rounds = itertools.count()

    def gather(mine: bytes) -> "list[bytes]":
        prefix = f"ringrt/{next(rounds)}/"
        store.set(f"{prefix}{rank}", mine)
        return [store.get(f"{prefix}{other}") for other in range(size)]

    return gather


def _only(tensors: "Sequence[torch.Tensor]") -> torch.Tensor:
    if len(tensors) != 1:
        raise InvalidArgument(f"expected one tensor, got {len(tensors)}")
    return tensors[0]


def _check_alike(tensors: "Sequence[torch.Tensor]", count: int, like: torch.Tensor) -> None:
    if len(tensors) != count:
        raise InvalidArgument(f"expected {count} tensors, one for each rank, got {len(tensors)}")
    if any(each.dtype is not like.dtype or each.numel() != like.numel() for each in tensors):
        raise InvalidArgument("the ranks' tensors are not of one type and size: with the backend ringrt they must be")


class ProcessGroupRingrt(c10d.Backend):
    """One communicator. Its methods are those that torch's C++ looks for, by name."""

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        super().__init__(rank, size)
        timeout_ms = min(max(int(timeout.total_seconds() * 1000), 1), _TIMEOUT_MS_MAX)
        self._rank, self._size = rank, size
        self._handle: Optional[Handle] = Handle(
            gather=gather_over_store(store, rank, size), rank=rank, size=size, transport="tcp",
            timeout_ms=timeout_ms, start_timeout_ms=timeout_ms, collectives_only=1)
        self._queue = WorkQueue(NAME)
        self._allocated: "set[int]" = set()  # tensors' memory

    def getBackendName(self) -> str:
        return NAME

    def name(self) -> str:
        return NAME

    def _start(self, operation: "Callable[[Handle], None]", opts: Any, tensors: "list[torch.Tensor]") -> Work:
        handle = self._handle
        if handle is None:
            raise InvalidArgument("this process group was destroyed")
        in_background = opts is None or getattr(opts, "asyncOp", True)
        return self._queue.start(lambda: operation(handle), tensors, in_background)

    # ---- reductions ----------------------------------------------------------------------------

    def allreduce(self, tensors: "list[torch.Tensor]", opts: Any = None) -> Work:
        return self.allreduce_coalesced([_only(tensors)], opts)

    def allreduce_coalesced(self, tensors: "list[torch.Tensor]", opts: Any = None) -> Work:
        op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        each = [(tensor, reduction(tensor.dtype, op)) for tensor in tensors]

        def operation(handle: Handle) -> None:
            for tensor, how in each:
                values = dense(tensor, how.stand_in)
                handle.allreduce(values.data_ptr(), values.data_ptr(), values.numel(), how.dtype, how.op)
                put_back(tensor, values)

        return self._start(operation, opts, tensors)

    def reduce(self, tensors: "list[torch.Tensor]", opts: Any) -> Work:
        tensor, root = _only(tensors), opts.rootRank
        how = reduction(tensor.dtype, opts.reduceOp)

        def operation(handle: Handle) -> None:
            values = dense(tensor, how.stand_in)
            result = values if self._rank == root else torch.empty_like(values)
            handle.allreduce(values.data_ptr(), result.data_ptr(), values.numel(), how.dtype, how.op)
            if self._rank == root:
                put_back(tensor, values)

        return self._start(operation, opts, tensors)

    def reduce_scatter_single_coalesced(self, outputs: "list[torch.Tensor]", inputs: "list[torch.Tensor]",
                                        opts: Any = None) -> Work:
        op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        each = [(out, given, reduction(given.dtype, op)) for out, given in zip(outputs, inputs)]
        for out, given, _ in each:
            if out.dtype is not given.dtype or given.numel() != out.numel() * self._size:
                raise InvalidArgument(f"reduce_scatter: the input has {given.numel()} elements of {given.dtype}, "
                                      f"expected {self._size} times the output's, of its type")

        def operation(handle: Handle) -> None:
            for out, given, how in each:
                values, share = dense(given, how.stand_in), dense(out, how.stand_in)
                handle.reduce_scatter(values.data_ptr(), share.data_ptr(), values.numel(), how.dtype, how.op)
                put_back(out, share)

        return self._start(operation, opts, outputs)

    def reduce_scatter_single(self, output: torch.Tensor, given: torch.Tensor, opts: Any = None) -> Work:
        return self.reduce_scatter_single_coalesced([output], [given], opts)

    def reduce_scatter(self, outputs: "list[torch.Tensor]", inputs: "list[list[torch.Tensor]]",
                       opts: Any = None) -> Work:
        out, parts = _only(outputs), inputs[0]
        _check_alike(parts, self._size, out)
        return self.reduce_scatter_single_coalesced([out], [torch.cat([part.reshape(-1) for part in parts])], opts)

    # ---- copies: of bytes, whatever they mean ---------------------------------------------------

    def broadcast(self, tensors: "list[torch.Tensor]", opts: Any) -> Work:
        tensor, root = _only(tensors), opts.rootRank

        def operation(handle: Handle) -> None:
            values = as_bytes(tensor)
            handle.broadcast(values.data_ptr(), values.numel(), root)
            from_bytes(tensor, values)

        return self._start(operation, opts, tensors)

    def all_gather_single_coalesced(self, outputs: "list[torch.Tensor]", inputs: "list[torch.Tensor]",
                                    opts: Any = None) -> Work:
        for out, given in zip(outputs, inputs):
            if bytes_of(out) != bytes_of(given) * self._size:
                raise InvalidArgument(f"all_gather: the output has {bytes_of(out)} bytes, expected {self._size} "
                                      f"times the input's {bytes_of(given)}")

        def operation(handle: Handle) -> None:
            for out, given in zip(outputs, inputs):
                values = as_bytes(out)
                handle.all_gather(as_bytes(given).data_ptr(), values.data_ptr(), values.numel(), BYTE)
                from_bytes(out, values)

        return self._start(operation, opts, outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def all_gather_single(self, output: torch.Tensor, given: torch.Tensor, opts: Any = None) -> Work:
        return self.all_gather_single_coalesced([output], [given], opts)

    def _gather_into(self, given: torch.Tensor, outputs: "Sequence[torch.Tensor]", opts: Any) -> Work:
        """From all ranks; outputs: of each rank, or none where this rank does not want them."""
        if outputs:
            _check_alike(outputs, self._size, given)

        def operation(handle: Handle) -> None:
            mine = as_bytes(given)
            every = torch.empty(self._size * mine.numel(), dtype=torch.uint8)
            handle.all_gather(mine.data_ptr(), every.data_ptr(), every.numel(), BYTE)
            for out, values in zip(outputs, every.chunk(self._size) if mine.numel() else ()):
                from_bytes(out, values)

        return self._start(operation, opts, list(outputs))

    def allgather(self, outputs: "list[list[torch.Tensor]]", inputs: "list[torch.Tensor]", opts: Any = None) -> Work:
        return self._gather_into(_only(inputs), outputs[0], opts)

    def gather(self, outputs: "list[list[torch.Tensor]]", inputs: "list[torch.Tensor]", opts: Any) -> Work:
        wanted = self._rank == opts.rootRank
        return self._gather_into(_only(inputs), outputs[0] if wanted else [], opts)

    def scatter(self, outputs: "list[torch.Tensor]", inputs: "list[list[torch.Tensor]]", opts: Any) -> Work:
        out, root = _only(outputs), opts.rootRank
        if self._rank == root:
            _check_alike(inputs[0], self._size, out)

        def operation(handle: Handle) -> None:
            if self._rank == root:
                every = torch.cat([as_bytes(part) for part in inputs[0]])
            else:
                every = torch.empty(self._size * bytes_of(out), dtype=torch.uint8)
            handle.broadcast(every.data_ptr(), every.numel(), root)
            if bytes_of(out):
                from_bytes(out, every.chunk(self._size)[self._rank])

        return self._start(operation, opts, outputs)

    def alltoall(self, outputs: "list[torch.Tensor]", inputs: "list[torch.Tensor]", opts: Any = None) -> Work:
        """Each rank's whole input goes to all of them, one rank after another: correct, not fast."""
        if len(inputs) != self._size or len(outputs) != self._size:
            raise InvalidArgument(f"all_to_all: expected {self._size} inputs and outputs, one for each rank")

        def operation(handle: Handle) -> None:
            sent = torch.tensor([bytes_of(each) for each in inputs])
            table = torch.empty(self._size, self._size, dtype=torch.int64)
            handle.all_gather(sent.data_ptr(), table.data_ptr(), bytes_of(table), BYTE)
            if table[:, self._rank].tolist() != [bytes_of(each) for each in outputs]:
                raise InvalidArgument("all_to_all: what the others send this rank is not what it has room for")
            for rank, out in enumerate(outputs):
                counts = table[rank].tolist()
                every = (torch.cat([as_bytes(each) for each in inputs]) if rank == self._rank
                         else torch.empty(sum(counts), dtype=torch.uint8))
                handle.broadcast(every.data_ptr(), every.numel(), rank)
                from_bytes(out, every.split(counts)[self._rank])

        return self._start(operation, opts, outputs)

    def all_to_all_single(self, output: torch.Tensor, given: torch.Tensor, output_splits: "list[int]",
                          input_splits: "list[int]", opts: Any = None) -> Work:
        def parts(tensor: torch.Tensor, splits: "list[int]") -> "list[torch.Tensor]":
            if not splits and tensor.shape[0] % self._size:
                raise InvalidArgument(f"all_to_all: {tensor.shape[0]} rows are not the same for {self._size} ranks: "
                                      "say the split sizes")
            return list(tensor.split(splits or [tensor.shape[0] // self._size] * self._size))

        return self.alltoall(parts(output, output_splits), parts(given, input_splits), opts)

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None) -> Work:
        return self._start(lambda handle: handle.barrier(), opts, [])

    # ---- what is not there -----------------------------------------------------------------------

    def send(self, tensors: "list[torch.Tensor]", peer: int, tag: int) -> Work:
        raise Unsupported("the backend ringrt has no send and recv: make a group for them by "
                          "torch.distributed.new_group(backend=\"gloo\")")

    recv = send

    def recv_anysource(self, tensors: "list[torch.Tensor]", tag: int) -> Work:
        return self.send(tensors, -1, tag)

    def allreduce_sparse(self, tensors: "list[torch.Tensor]", opts: Any = None) -> Work:
        raise Unsupported("the backend ringrt has no all_reduce of sparse tensors")

    # ---- memory that the ranks of a node read in place --------------------------------------------

    def supports_tensor_alloc(self, _device: Any) -> bool:
        return True

    def allocate_tensor(self, size: int, *, dtype: torch.dtype = torch.float32, device: Any = None) -> torch.Tensor:
        """A tensor of zeros for which all_reduce needs no copy, where all ranks use such. Not collective."""
        if device is not None and torch.device(device).type != "cpu":
            raise Unsupported(f"the backend ringrt has no memory on {device}")
        count = size * torch.empty((), dtype=dtype).element_size()
        if count == 0:
            return torch.empty(0, dtype=dtype)
        addresses: "list[int]" = []
        self._start(lambda handle: addresses.append(handle.alloc(count)), None, []).wait()
        self._allocated.add(addresses[0])
        memory = (ctypes.c_char * count).from_address(addresses[0])
        weakref.finalize(memory, self._queue.before_next.append, lambda: self._free(addresses[0])).atexit = False
        return torch.frombuffer(memory, dtype=dtype)

    def _free(self, address: int) -> None:
        self._allocated.discard(address)
        if self._handle is not None:
            self._handle.free(address)

    # ---- the end -----------------------------------------------------------------------------------

    def abort(self) -> None:
        if self._handle is not None:
            self._handle.abort()

    def shutdown(self) -> None:
        """Leaves together with the others, so that none takes it for a loss; alone where they do not come."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        thread = threading.Thread(target=self._leave, args=(handle,), daemon=True)
        self._queue.start(thread.start, [], in_background=False).wait()
        thread.join(_GOODBYE_S)

    def _leave(self, handle: Handle) -> None:
        try:
            handle.barrier()
        except Error as error:
            logging.getLogger(NAME).info("end of a process group: %s", error)
        if self._allocated:
            return  # tensors of the program are in its memory: it stays until the process ends
        handle.abort()  # all are here: nothing to wait for
        try:
            handle.finalize()
        except Error as error:
            logging.getLogger(NAME).info("end of a process group: %s", error)
