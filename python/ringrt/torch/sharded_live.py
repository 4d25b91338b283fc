# SPDX-License-Identifier: BSD-3-Clause
"""live.py for a model of fully_shard(), whose ranks each have one part of the parameters and of the optimizer's state.

A lost rank takes its part with it, and a rank that leaves would too. So while extensions are there, the base's ranks
together keep a copy of the whole state, divided among them as it is when they are alone, which they have the memory for:

    a step ──► its update ──► the new copy, beside the old one ──► the ballot ──► the old copy is dropped
                                                                        │
                               a rank is lost, here or earlier ─────────┴──► the newest copy that all of the base have

A rank that has passed the ballot knows that all of the base have the new copy, and one that has not still has both. So
they find a common one. A step counts only with its copy: if a rank is lost before, all do the step again, also those
that have updated their part. After each change of ranks the parts come from the copy: joiners, and whoever stays."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import torch
from torch.distributed import distributed_c10d

from ..errors import PeerLost, TimedOut
from . import spread
from .elements import BYTE, INT64
from .live import Live
from .packed import Packed, unpacked, unpacked_bytes
from .remesh import make_mesh, remesh
from .sharded import Piece, ShardedGradientScale, ShardedState, pieces_of, put_together, taken_apart

if TYPE_CHECKING:
    from .malleable import Malleable

_ALL_COME_S = 10.0


class Copy(NamedTuple):
    """A base rank's share of one state."""

    position: "tuple[int, int]"  # steps done, epoch
    rest: bytes  # packed: what all ranks have, and a Piece for each DTensor
    rows: "dict[str, torch.Tensor]"  # of each DTensor, of the division among the base's ranks


def _shapes(content: Any) -> "list[spread.Shape]":
    """In an order that all ranks have."""
    for name, piece in pieces_of(content).items():
        if len(piece.placements) != 1 or not piece.placements[0].is_shard(0):
            raise ValueError(f"{name} is not divided by rows, but as {piece.placements}: this optimizer's state cannot be "
                             "resized in place")
    return [spread.shape_of(name, piece.shape, piece.dtype) for name, piece in sorted(pieces_of(content).items())]


def _empty_rows(content: Any, shapes: "list[spread.Shape]", rank: int, ranks: int) -> "dict[str, torch.Tensor]":
    pieces, out = pieces_of(content), {}
    for shape in shapes:
        first, end = spread.rows_of(shape, rank, ranks)
        piece = pieces[shape.name]
        out[shape.name] = torch.empty(end - first, *piece.shape[1:], dtype=piece.dtype)
    return out


def _dtensor(piece: Piece, rows: torch.Tensor, mesh: Any) -> Any:
    from torch.distributed.tensor import DTensor
    stride = torch.empty(piece.shape, device="meta").stride()
    return DTensor.from_local(rows, mesh, piece.placements, run_check=False, shape=torch.Size(piece.shape), stride=stride)


class ShardedLive(Live):
    def __init__(self, run: "Malleable", model: torch.nn.Module, opts: "list[Any]", state: ShardedState,
                 scale: ShardedGradientScale) -> None:
        super().__init__(run, model, opts, {})
        self._state, self._scale = state, scale
        self._in_tail = False
        self._copy: Optional[Copy] = None  # of the state after the last ballot; None: there are no extensions
        self._next: Optional[Copy] = None  # of the state that the ballot is about
        self._spare: "dict[str, torch.Tensor]" = {}  # the memory of the copy before the last
        self._received: Any = None  # an extension's: what rank 0 has sent, before the rows come

    # ---- the state ---------------------------------------------------------------------------------

    def _parts(self) -> "tuple[Any, dict[str, torch.Tensor]]":
        """The present state: what all ranks have, and this rank's rows."""
        content, shards = taken_apart(self._state.content())
        return content, {name: shard.to_local() for name, shard in shards.items()}

    def _where(self) -> "tuple[int, int]":
        return self.run.steps_done, self.run.epoch

    def _take_where(self, content: Any) -> None:
        self._state.parts["ringrt"].load_state_dict(content["ringrt"])

    def _pack(self) -> "list[tuple[int, int]]":
        self._packed = Packed(self._parts()[0])
        return self._packed.pieces

    def _unpack(self, address: int, count: int) -> None:
        """The rows follow in _form(). A rank of the base has copies instead."""
        if not self.extension:
            return
        content, mine = unpacked(address, count), self._parts()[0]
        differs = sorted(set(content) ^ set(mine))
        if not differs and pieces_of(content["model"]) != pieces_of(mine["model"]):
            differs = ["model"]
        if differs:
            raise ValueError(f"the base's state and this program's differ in {', '.join(differs)}")
        self._take_where(content)
        self._received = content

    def save(self, rank: int, directory: str) -> None:
        """Only the base's ranks do, over the program's own group, because extensions may be lost meanwhile."""
        if self.extension:
            return
        newest = self._next or self._copy
        if newest is not None:
            self._await_all_of_the_base(os.path.basename(directory))
        content, rows = self._parts() if newest is None else (unpacked_bytes(newest.rest), newest.rows)
        pieces = pieces_of(content)
        shards = {name: _dtensor(pieces[name], part, self._state.mesh) for name, part in rows.items()}
        self._state.save_parts(rank, directory, content, shards)

    def _await_all_of_the_base(self, name: str) -> None:
        from . import dcp
        store = distributed_c10d._get_process_group_store(self._state.mesh.get_group())
        if not dcp.all_come(store, f"ringrt/{name}", self.world.base_ranks, _ALL_COME_S):
            raise OSError("a rank of the base has lost an extension meanwhile")

    # ---- copies -------------------------------------------------------------------------------------

    def _before_ballot(self) -> None:
        """Makes the base's next copy, of the parts of all ranks."""
        if self.handle.size == self.world.base_ranks:
            return
        content, rows = self._parts()
        shapes, size = _shapes(content), self.handle.size
        streams = [spread.stream_of(shapes, rank, size) for rank in range(size)]
        into, copied = None, self._spare
        if not self.extension:
            share = self.handle.rank, self.world.base_ranks
            fresh = _empty_rows(content, [shape for shape in shapes if shape.name not in copied], *share)
            copied = {shape.name: fresh[shape.name] if shape.name in fresh else copied[shape.name] for shape in shapes}
            into = spread.Holding(spread.stream_of(shapes, *share), copied)
        spread.gather(self._all_gather, streams, spread.Holding(streams[self.handle.rank], rows), into)
        if not self.extension:
            self._spare = {}
            self._next = Copy(self._where(), Packed(content).copy(), copied)

    def _all_gather(self, mine: torch.Tensor, every: torch.Tensor) -> None:
        self.handle.allgather(mine.data_ptr(), every.data_ptr(), mine.numel(), BYTE)

    def _broadcast(self, chunk: torch.Tensor, root: int) -> None:
        self.handle.broadcast(chunk.data_ptr(), chunk.numel(), BYTE, root)

    def _commit(self) -> None:
        if self._next is not None:
            self._spare = self._copy.rows if self._copy is not None else {}
            self._copy, self._next = self._next, None

    def _keep(self) -> None:
        self._commit()
        self._packed = None
        self._position.step.begin(void=self._redo)

    def _go_back(self) -> None:
        """_form() does, from the copy."""

    # ---- ranks join, leave, and are lost ---------------------------------------------------------------

    def boundary(self, in_tail: bool) -> bool:
        self._in_tail = in_tail
        return super().boundary(in_tail)

    def undo(self, in_tail: bool) -> None:
        self._in_tail = in_tail
        super().undo(in_tail)

    def is_void(self) -> bool:
        """Unlike with whole parameters, an update that one rank has made is worth nothing without the others'."""
        return self._position.step.is_lost

    def _agree(self, in_tail: bool) -> bool:
        """The base's ranks continue from the newest copy that all of them have."""
        handle, epoch = self.handle, self.run.epoch
        newest = self._next or self._copy
        position = newest.position if newest is not None else self._where()
        mine = torch.tensor([*position, int(in_tail), int(not self.extension)])
        every = torch.empty(handle.size, 4, dtype=torch.int64)
        try:
            handle.allgather(mine.data_ptr(), every.data_ptr(), mine.numel(), INT64)
        except (PeerLost, TimedOut):
            return False
        agreed = min((steps, epochs) for steps, epochs, _, is_base in every.tolist() if is_base)
        if self.extension:
            if agreed != self._where():
                return False
        elif self._next is not None and agreed == self._next.position:
            self._commit()
        elif self._copy is None or agreed != self._copy.position:
            raise PeerLost("the ranks of the base have no copy of one state in common")
        if self._copy is not None:
            self._next = None
            self._take_where(unpacked_bytes(self._copy.rest))
        over = self.run.epoch != epoch or (self.run.epoch_step >= self.run.plan.steps and bool(every[:, 2].any()))
        self._redo = over and not in_tail
        return True

    def _join_again(self, in_tail: bool) -> None:
        epoch = self.run.epoch
        self.await_base()
        self.returns += 1
        self._form()
        self._redo = self.run.epoch != epoch and not in_tail
        self._position.step.begin(void=self._redo)

    def _form(self) -> None:
        self._commit()
        while True:
            self.moves += 1
            self.handle.refresh_ranks()
            self.world.form()
            try:
                self._divide(make_mesh(self.world.present_group), self.handle.rank, self.handle.size)
                break
            except (PeerLost, TimedOut):  # an extension's rank, while the rows were sent
                if not self.world.can_go_on():
                    raise
            if self.extension:
                self.await_base()
                continue
            self.handle.restore()
            self.handle.refresh_ranks()
            if not self._agree(self._in_tail):
                raise PeerLost("a rank of the base was lost")
        self._keep()

    def _divide(self, mesh: Any, rank: int, size: int) -> None:
        """Divides the copied state among the ranks of `mesh`. Collective, if they are more than the base's."""
        if not self.extension and self._copy is None:
            content, rows = self._parts()
            self._copy = Copy(self._where(), Packed(content).copy(), rows)
        if self._copy is not None:
            content = unpacked_bytes(self._copy.rest)
        elif self._received is not None:
            content = self._received
        else:  # an extension that stays
            content = unpacked_bytes(Packed(self._parts()[0]).copy())
        remesh(self._model, mesh)
        self._scale.forget()
        alone = size == self.world.base_ranks
        rows = self._copy.rows if alone and self._copy is not None else self._rows_of(content, rank, size)
        self._state.fill(put_together(content, lambda name, piece: _dtensor(piece, rows[name], mesh)))
        self._received = None
        if alone:
            self._copy, self._spare = None, {}

    def _rows_of(self, content: Any, rank: int, size: int) -> "dict[str, torch.Tensor]":
        base_ranks = torch.tensor([self.world.base_ranks])
        self._broadcast(base_ranks.view(torch.uint8), 0)
        shapes = _shapes(content)
        streams = [spread.stream_of(shapes, one, int(base_ranks)) for one in range(int(base_ranks))]
        rows = _empty_rows(content, shapes, rank, size)
        mine = spread.Holding(streams[rank], self._copy.rows) if self._copy is not None else None
        spread.scatter(self._broadcast, streams, rank, mine, spread.Holding(spread.stream_of(shapes, rank, size), rows))
        return rows

    def _closed(self, rank: int) -> None:
        self._divide(self._state.mesh, rank, self.world.base_ranks)
