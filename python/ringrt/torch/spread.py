# SPDX-License-Identifier: BSD-3-Clause
"""Moves tensors that are divided by rows among n ranks to ranks that divide them among another number. A rank's rows of
all tensors, one after the other, are its stream:

    rank r of n has rows r · c … of a tensor of R rows, c = R / n rounded up (fully_shard()'s division)

Streams are sent in chunks, so that no rank needs memory for a whole tensor. All ranks know all streams."""
from __future__ import annotations

from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

import torch

CHUNK = 8 << 20  # bytes that a rank has in one collective operation


class Shape(NamedTuple):
    name: str
    rows: int
    row_bytes: int


class Run(NamedTuple):
    """Bytes of one tensor that lie together in a stream."""

    name: str
    begin: int  # in the tensor
    length: int
    at: int  # in the stream


def shape_of(name: str, sizes: "Sequence[int]", dtype: torch.dtype) -> Shape:
    row = torch.empty((), dtype=dtype).element_size()
    for size in sizes[1:]:
        row *= size
    return Shape(name, sizes[0], row)


def rows_of(shape: Shape, rank: int, ranks: int) -> "tuple[int, int]":
    """The first, and the one after the last."""
    each = -(-shape.rows // ranks)
    return min(rank * each, shape.rows), min((rank + 1) * each, shape.rows)


def stream_of(shapes: "Sequence[Shape]", rank: int, ranks: int) -> "list[Run]":
    runs, at = [], 0
    for shape in shapes:
        first, end = rows_of(shape, rank, ranks)
        count = (end - first) * shape.row_bytes
        if count:
            runs.append(Run(shape.name, first * shape.row_bytes, count, at))
            at += count
    return runs


def bytes_in(stream: "Sequence[Run]") -> int:
    return stream[-1].at + stream[-1].length if stream else 0


def _within(stream: "Sequence[Run]", low: int, high: int) -> "Iterator[Run]":
    """The parts of a stream's bytes low … high - 1; `at` counts from low."""
    for run in stream:
        begin, end = max(run.at, low), min(run.at + run.length, high)
        if begin < end:
            yield Run(run.name, run.begin + begin - run.at, end - begin, begin - low)


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).view(torch.uint8)


class Holding:
    """One rank's rows of every tensor, as bytes."""

    def __init__(self, stream: "Sequence[Run]", tensors: "Mapping[str, torch.Tensor]") -> None:
        self.stream = stream
        self._runs = {run.name: run for run in stream}
        self._bytes = {run.name: as_bytes(tensors[run.name]) for run in stream}
        for run in stream:
            if self._bytes[run.name].numel() != run.length:
                raise ValueError(f"a rank has {self._bytes[run.name].numel()} bytes of {run.name}, not {run.length}")

    def put(self, low: int, high: int, chunk: torch.Tensor) -> None:
        """Writes the bytes low … high - 1 of this stream into `chunk`."""
        for run in _within(self.stream, low, high):
            begin = run.begin - self._runs[run.name].begin
            chunk[run.at:run.at + run.length] = self._bytes[run.name][begin:begin + run.length]

    def take(self, stream: "Sequence[Run]", low: int, high: int, chunk: torch.Tensor) -> None:
        """Keeps what this rank has of the bytes low … high - 1 of another rank's stream."""
        for run in _within(stream, low, high):
            mine = self._runs.get(run.name)
            if mine is None:
                continue
            begin, end = max(run.begin, mine.begin), min(run.begin + run.length, mine.begin + mine.length)
            if begin < end:
                at = run.at + begin - run.begin
                self._bytes[run.name][begin - mine.begin:end - mine.begin] = chunk[at:at + end - begin]


def gather(all_gather: "Callable[[torch.Tensor, torch.Tensor], None]", streams: "Sequence[Sequence[Run]]",
           mine: Holding, into: "Holding | None") -> None:
    """From all ranks, each of which has one of the streams, to those that have an `into`."""
    ranks, whole = len(streams), max(bytes_in(stream) for stream in streams)
    chunk = max(1, min(CHUNK // ranks, whole))
    sent, every = torch.zeros(chunk, dtype=torch.uint8), torch.empty(ranks, chunk, dtype=torch.uint8)
    for low in range(0, whole, chunk):
        mine.put(low, low + chunk, sent)
        all_gather(sent, every)
        if into is not None:
            for stream, received in zip(streams, every):
                into.take(stream, low, low + chunk, received)


def scatter(broadcast: "Callable[[torch.Tensor, int], None]", streams: "Sequence[Sequence[Run]]", rank: int,
            mine: "Holding | None", into: Holding) -> None:
    """From the first ranks, each of which has one of the streams, to all."""
    for root, stream in enumerate(streams):
        whole = bytes_in(stream)
        for low in range(0, whole, CHUNK):
            high = min(low + CHUNK, whole)
            chunk = torch.empty(high - low, dtype=torch.uint8)
            if root == rank and mine is not None:
                mine.put(low, high, chunk)
            broadcast(chunk, root)
            into.take(stream, low, high, chunk)
