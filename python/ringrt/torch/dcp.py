# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed.checkpoint (DCP) in a checkpoint's directory. Collective. A failure is an OSError with one line."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from torch.distributed import checkpoint


@contextmanager
def _one_line() -> "Iterator[None]":
    try:
        yield
    except checkpoint.CheckpointException as failed:  # it holds the ranks' tracebacks
        rank, (error, _trace) = min(failed.failures.items())
        raise OSError(f"rank {rank}: {type(error).__name__}: {error}") from failed


def save(state: "dict[str, Any]", directory: str) -> None:
    with _one_line():  # the library syncs the files before it gives the directory its final name
        checkpoint.save(state, storage_writer=checkpoint.FileSystemWriter(directory, sync_files=False))


def load(state: "dict[str, Any]", directory: str) -> None:
    """Fills the state in place, resharded."""
    with _one_line():
        checkpoint.load(state, storage_reader=checkpoint.FileSystemReader(directory))
