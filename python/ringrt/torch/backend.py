# SPDX-License-Identifier: BSD-3-Clause
"""The torch.distributed backend "ringrt" for tensors in host memory: init_process_group("ringrt"), or
"cpu:ringrt,cuda:nccl". Nothing is compiled against torch. It needs torch 2.14.1 or newer, which accepts
backends written in Python."""
from __future__ import annotations

import ctypes
import logging
import threading
import weakref
from datetime import timedelta
from typing import Any, Callable, Optional, Sequence

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from ..communicator import Communicator
from ..errors import Error, InvalidArgument, Unsupported
from .elements import BYTE, as_bytes, bytes_of, dense, from_bytes, put_back, reduction
from .work import Work, WorkQueue

NAME = "ringrt"
_TIMEOUT_MS_MAX = 86400000
_GOODBYE_S = 10  # how long shutdown() waits for the other ranks
_debugged: "list[ProcessGroupRingrt]" = []


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
    """One communicator. torch's C++ looks up its methods and properties by name. A property that is missing here
    would be torch's own, which calls C++, which looks it up here again: an endless recursion, which crashes
    Python 3.13."""

    supports_coalescing = supports_splitting = supports_shrinking = False
    supports_reconfigure = supports_window = supports_time_estimate = _supports_time_estimate = False
    _sequence = 0  # operations started

    @property
    def options(self) -> Any:
        return c10d.Backend.Options(self.name())

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        super().__init__(rank, size)
        timeout_ms = min(max(int(timeout.total_seconds() * 1000), 1), _TIMEOUT_MS_MAX)
        self._rank, self._size = rank, size

        def get(key: str, within_ms: int) -> bytes:
            store.wait([key], timedelta(milliseconds=within_ms))
            return store.get(key)

        self._comm: Optional[Communicator] = Communicator(rank, size, store.set, get, timeout_ms)
        if dist.get_debug_level() == dist.DebugLevel.DETAIL:
            _debugged.append(self)  # torch's wrapper keeps only the C++ part of a backend
        self._queue = WorkQueue(NAME)
        self._allocated: "set[int]" = set()  # addresses of tensors

    def getBackendName(self) -> str:
        return NAME

    def name(self) -> str:
        return NAME

    def _get_sequence_number_for_group(self) -> int:
        """TORCH_DISTRIBUTED_DEBUG=DETAIL compares the ranks' numbers."""
        return self._sequence

    def _start(self, operation: "Callable[[Communicator], None]", opts: Any, tensors: "list[torch.Tensor]") -> Work:
        comm = self._comm
        if comm is None:
            raise InvalidArgument("this process group was destroyed")
        self._sequence += 1
        in_background = opts is None or getattr(opts, "asyncOp", True)
        return self._queue.start(lambda: operation(comm), tensors, in_background)

    # ---- reductions ----------------------------------------------------------------------------

    def allreduce(self, tensors: "list[torch.Tensor]", opts: Any = None) -> Work:
        return self.allreduce_coalesced([_only(tensors)], opts)

    def allreduce_coalesced(self, tensors: "list[torch.Tensor]", opts: Any = None) -> Work:
        op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        each = [(tensor, reduction(tensor.dtype, op)) for tensor in tensors]

        def operation(comm: Communicator) -> None:
            for tensor, how in each:
                values = how.values(tensor)
                comm.allreduce(values.data_ptr(), values.data_ptr(), values.numel(), how.dtype, how.op)
                put_back(tensor, values)

        return self._start(operation, opts, tensors)

    def reduce(self, tensors: "list[torch.Tensor]", opts: Any) -> Work:
        tensor, root = _only(tensors), opts.rootRank
        how = reduction(tensor.dtype, opts.reduceOp)

        def operation(comm: Communicator) -> None:
            values = how.values(tensor)
            comm.reduce(values.data_ptr(), values.data_ptr(), values.numel(), how.dtype, how.op, root)
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

        def operation(comm: Communicator) -> None:
            for out, given, how in each:
                values, share = how.values(given), dense(out, how.stand_in)
                comm.reduce_scatter(values.data_ptr(), share.data_ptr(), share.numel(), how.dtype, how.op)
                put_back(out, share)

        return self._start(operation, opts, outputs)

    def reduce_scatter_single(self, output: torch.Tensor, given: torch.Tensor, opts: Any = None) -> Work:
        return self.reduce_scatter_single_coalesced([output], [given], opts)

    def reduce_scatter(self, outputs: "list[torch.Tensor]", inputs: "list[list[torch.Tensor]]",
                       opts: Any = None) -> Work:
        out, parts = _only(outputs), inputs[0]
        _check_alike(parts, self._size, out)
        return self.reduce_scatter_single_coalesced([out], [torch.cat([part.reshape(-1) for part in parts])], opts)

    # ---- copies: bytes of any type -------------------------------------------------------------

    def broadcast(self, tensors: "list[torch.Tensor]", opts: Any) -> Work:
        tensor, root = _only(tensors), opts.rootRank

        def operation(comm: Communicator) -> None:
            values = as_bytes(tensor)
            comm.broadcast(values.data_ptr(), values.numel(), BYTE, root)
            from_bytes(tensor, values)

        return self._start(operation, opts, tensors)

    def all_gather_single_coalesced(self, outputs: "list[torch.Tensor]", inputs: "list[torch.Tensor]",
                                    opts: Any = None) -> Work:
        for out, given in zip(outputs, inputs):
            if bytes_of(out) != bytes_of(given) * self._size:
                raise InvalidArgument(f"all_gather: the output has {bytes_of(out)} bytes, expected {self._size} "
                                      f"times the input's {bytes_of(given)}")

        def operation(comm: Communicator) -> None:
            for out, given in zip(outputs, inputs):
                values, mine = as_bytes(out), as_bytes(given)
                comm.allgather(mine.data_ptr(), values.data_ptr(), mine.numel(), BYTE)
                from_bytes(out, values)

        return self._start(operation, opts, outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def all_gather_single(self, output: torch.Tensor, given: torch.Tensor, opts: Any = None) -> Work:
        return self.all_gather_single_coalesced([output], [given], opts)

    def _take_apart(self, outputs: "Sequence[torch.Tensor]", every: torch.Tensor) -> None:
        for out, values in zip(outputs, every.chunk(self._size) if every.numel() else ()):
            from_bytes(out, values)

    def allgather(self, outputs: "list[list[torch.Tensor]]", inputs: "list[torch.Tensor]", opts: Any = None) -> Work:
        given = _only(inputs)
        _check_alike(outputs[0], self._size, given)

        def operation(comm: Communicator) -> None:
            mine = as_bytes(given)
            every = torch.empty(self._size * mine.numel(), dtype=torch.uint8)
            comm.allgather(mine.data_ptr(), every.data_ptr(), mine.numel(), BYTE)
            self._take_apart(outputs[0], every)

        return self._start(operation, opts, outputs[0])

    def allgather_coalesced(self, outputs: "list[list[torch.Tensor]]", inputs: "list[torch.Tensor]",
                            opts: Any = None) -> Work:
        """outputs[r] are rank r's inputs."""
        for number, given in enumerate(inputs):
            _check_alike([row[number] for row in outputs if number < len(row)], self._size, given)

        def operation(comm: Communicator) -> None:
            bytes_each = [bytes_of(given) for given in inputs]
            mine = torch.cat([as_bytes(given) for given in inputs])
            every = torch.empty(self._size, mine.numel(), dtype=torch.uint8)
            comm.allgather(mine.data_ptr(), every.data_ptr(), mine.numel(), BYTE)
            for row, values in zip(outputs, every):
                for out, part in zip(row, values.split(bytes_each)):
                    from_bytes(out, part.clone())  # aligned for its type

        return self._start(operation, opts, [out for row in outputs for out in row])

    def gather(self, outputs: "list[list[torch.Tensor]]", inputs: "list[torch.Tensor]", opts: Any) -> Work:
        given, root = _only(inputs), opts.rootRank
        wanted = list(outputs[0]) if self._rank == root else []
        if self._rank == root:
            _check_alike(wanted, self._size, given)

        def operation(comm: Communicator) -> None:
            mine = as_bytes(given)
            every = torch.empty(len(wanted) * mine.numel(), dtype=torch.uint8)
            comm.gather(mine.data_ptr(), every.data_ptr(), mine.numel(), BYTE, root)
            self._take_apart(wanted, every)

        return self._start(operation, opts, wanted)

    def scatter(self, outputs: "list[torch.Tensor]", inputs: "list[list[torch.Tensor]]", opts: Any) -> Work:
        out, root = _only(outputs), opts.rootRank
        if self._rank == root:
            _check_alike(inputs[0], self._size, out)

        def operation(comm: Communicator) -> None:
            parts = inputs[0] if self._rank == root else []
            every = torch.cat([as_bytes(part) for part in parts]) if parts else torch.empty(0, dtype=torch.uint8)
            values = as_bytes(out)
            comm.scatter(every.data_ptr(), values.data_ptr(), values.numel(), BYTE, root)
            from_bytes(out, values)

        return self._start(operation, opts, outputs)

    def alltoall(self, outputs: "list[torch.Tensor]", inputs: "list[torch.Tensor]", opts: Any = None) -> Work:
        if len(inputs) != self._size or len(outputs) != self._size:
            raise InvalidArgument(f"all_to_all: expected {self._size} inputs and outputs, one for each rank")

        def operation(comm: Communicator) -> None:
            sent = torch.tensor([bytes_of(each) for each in inputs])
            table = torch.empty(self._size, self._size, dtype=torch.int64)
            comm.allgather(sent.data_ptr(), table.data_ptr(), bytes_of(sent), BYTE)
            if table[:, self._rank].tolist() != [bytes_of(each) for each in outputs]:
                raise InvalidArgument("all_to_all: the data for this rank does not fit its output")
            values = [as_bytes(each) for each in outputs]
            mine = [as_bytes(each) for each in inputs]
            comm.exchange([(each.data_ptr(), each.numel(), peer) for peer, each in enumerate(mine)],
                          [(each.data_ptr(), each.numel(), peer) for peer, each in enumerate(values)], BYTE)
            for out, each in zip(outputs, values):
                from_bytes(out, each)

        return self._start(operation, opts, outputs)

    def all_to_all_single(self, output: torch.Tensor, given: torch.Tensor, output_splits: "list[int]",
                          input_splits: "list[int]", opts: Any = None) -> Work:
        def parts(tensor: torch.Tensor, splits: "list[int]") -> "list[torch.Tensor]":
            if not splits and tensor.shape[0] % self._size:
                raise InvalidArgument(f"all_to_all: {tensor.shape[0]} rows cannot be divided evenly among "
                                      f"{self._size} ranks: give the split sizes")
            return list(tensor.split(splits or [tensor.shape[0] // self._size] * self._size))

        return self.alltoall(parts(output, output_splits), parts(given, input_splits), opts)

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None) -> Work:
        return self._start(lambda comm: comm.barrier(), opts, [])

    # ---- not supported --------------------------------------------------------------------------

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
        """A tensor of zeros that all_reduce uses without a copy, if all ranks use such tensors. Not collective."""
        if device is not None and torch.device(device).type != "cpu":
            raise Unsupported(f"the backend ringrt has no memory on {device}")
        count = size * torch.empty((), dtype=dtype).element_size()
        if count == 0:
            return torch.empty(0, dtype=dtype)
        addresses: "list[int]" = []
        self._start(lambda comm: addresses.append(comm.alloc(count)), None, []).wait()
        self._allocated.add(addresses[0])
        memory = (ctypes.c_char * count).from_address(addresses[0])
        weakref.finalize(memory, self._queue.before_next.append, lambda: self._free(addresses[0])).atexit = False
        return torch.frombuffer(memory, dtype=dtype)

    def _free(self, address: int) -> None:
        self._allocated.discard(address)
        if self._comm is not None:
            self._comm.free(address)

    # ---- the end -----------------------------------------------------------------------------------

    def abort(self) -> None:
        if self._comm is not None:
            self._comm.abort()

    def shutdown(self) -> None:
        """Leaves together with the other ranks, so that none reports a loss; alone if they do not come in time."""
        comm, self._comm = self._comm, None
        if comm is None:
            return
        thread = threading.Thread(target=self._leave, args=(comm,), daemon=True)
        self._queue.start(thread.start, [], in_background=False).wait()
        thread.join(_GOODBYE_S)

    def _leave(self, comm: Communicator) -> None:
        try:
            comm.barrier()
        except Error as error:
            logging.getLogger(NAME).info("end of a process group: %s", error)
        if self._allocated:
            return  # tensors of the program use its memory: it stays until the process ends
        comm.abort()  # all are here: nothing to wait for
        try:
            comm.destroy()
        except Error as error:
            logging.getLogger(NAME).info("end of a process group: %s", error)
