# SPDX-License-Identifier: BSD-3-Clause
"""Malleable training under Slurm: a job gains or releases GPUs without losing a step.

    with ringrt.Run(state) as run:
        while run.step():
            ...                         # one training step

`ringrt.Job` is the step boundary alone, for a program with collectives and checkpoints of its own;
`ringrt.torch` is for PyTorch. The library is loaded at the first use, not by the import.
"""
from .communicator import Communicator
from .errors import (Aborted, CheckpointFailed, Corrupt, Error, Forked, InvalidArgument,
                     LibraryNotFound, Mismatch, OutOfMemory, PeerLost, Superseded, SystemFailure,
                     TimedOut, Unsupported)
from .handle import Handle
from .job import Action, Job, Resized
from .library import Share
from .run import Run
from .state import State
from .types import Dtype, Op

__version__ = "0.1.0"
__all__ = [
    "Aborted", "Action", "CheckpointFailed", "Communicator", "Corrupt", "Dtype", "Error", "Forked", "Handle",
    "InvalidArgument", "Job", "LibraryNotFound", "Mismatch", "Op", "OutOfMemory", "PeerLost", "Resized", "Run",
    "Share", "State", "Superseded", "SystemFailure", "TimedOut", "Unsupported",
]
