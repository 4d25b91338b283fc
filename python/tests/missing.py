# SPDX-License-Identifier: BSD-3-Clause
"""Runs a script (missing.py STAGE NUMBER RANK SCRIPT …) whose extension dies right after a collective: the NUMBER-th
in training, or in evaluating, at three ranks. One RANK of the base takes it for lost, the other does not."""
import os
import runpy
import signal
import sys
import time

import ringrt.torch  # noqa: F401
from ringrt.torch.live_world import LiveWorld

stage, (number, rank) = sys.argv[1], map(int, sys.argv[2:4])
attempt, count = LiveWorld.attempt, 0


def miss(self, group, operation):
    global count
    is_lost = self._position.step.is_lost
    attempt(self, group, operation)
    if is_lost or group._size < 3 or self._ddp[0].module.training != (stage == "training"):
        return
    count += 1
    if count == number:
        if os.environ.get("RINGRT_EXTENDS"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif group._rank == rank:
            time.sleep(0.3)  # the other ranks finish theirs
            attempt(self, group, self.handle.barrier)  # finds the loss


LiveWorld.attempt = miss
del sys.argv[:4]
runpy.run_path(sys.argv[0], run_name="__main__")
