# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed.checkpoint (DCP) in a checkpoint's directory. Collective. A failure is an OSError with one line."""
from __future__ import annotations

import time
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


def all_come(store: Any, key: str, ranks: int, wait_s: float) -> bool:
    """Whether all ranks call this within the time: the same answer at each of them, because one decides. A rank that
    found a loss on its way here does not come, and DCP's collectives would wait for it."""
    came, end = store.add(key, 1), time.monotonic() + wait_s
    while came < ranks and time.monotonic() < end:
        time.sleep(0.005)
        came = store.add(key, 0)
    return store.compare_set(f"{key}/decided", "", "all" if came == ranks else "not all") == b"all"


def save(state: "dict[str, Any]", directory: str, group: Any = None) -> None:
    with _one_line():  # the library syncs the files before it gives the directory its final name
        checkpoint.save(state, storage_writer=checkpoint.FileSystemWriter(directory, sync_files=False),
                        process_group=group)


def load(state: "dict[str, Any]", directory: str) -> None:
    """Fills the state in place, resharded."""
    with _one_line():
        checkpoint.load(state, storage_reader=checkpoint.FileSystemReader(directory))
