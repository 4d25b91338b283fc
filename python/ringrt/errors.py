# SPDX-License-Identifier: BSD-3-Clause
"""The library's statuses as exceptions. Each holds the library's one-line message."""
from __future__ import annotations


class Error(Exception):
    """A failure; str() is one line with the cause and the remedy."""

    status = -1


class LibraryNotFound(Error, OSError):
    """libringrt.so cannot be found, or is too old."""


class InvalidArgument(Error, ValueError):
    status = 2


class TimedOut(Error, TimeoutError):
    """A peer did not answer in time."""

    status = 3


class PeerLost(Error, ConnectionError):
    """A peer closed its connection or died."""

    status = 4


class Mismatch(Error):
    """Ranks called different operations, or the checkpoint is of another program."""

    status = 5


class OutOfMemory(Error, MemoryError):
    status = 6


class SystemFailure(Error, OSError):
    status = 7


class CheckpointFailed(Error):
    """Not saved: the old checkpoint stays valid, and training can continue."""

    status = 8


class Corrupt(Error):
    """Every kept checkpoint is damaged."""

    status = 9


class Superseded(Error):
    """A newer start of this job writes the checkpoints."""

    status = 10


class Aborted(Error):
    status = 11


class Forked(Error):
    """A handle was used in a forked child."""

    status = 12


class Unsupported(Error):
    status = 13


OK, NOT_FOUND = 0, 1
_BY_STATUS = {
    kind.status: kind
    for kind in (InvalidArgument, TimedOut, PeerLost, Mismatch, OutOfMemory, SystemFailure,
                 CheckpointFailed, Corrupt, Superseded, Aborted, Forked, Unsupported)
}


def error_of(status: int, line: str) -> Error:
    return _BY_STATUS.get(status, Error)(line)
