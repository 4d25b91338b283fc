# SPDX-License-Identifier: BSD-3-Clause
"""Runs a script (lost_at.py SCRIPT …) whose extensions die in a collective operation, the number of which is in the file
`lost_at` of the base's directory: counted from the moment that it has joined, in whatever the package does then. The
file's second number is a rank of the base that finds the loss right after this operation, which the others finish. A
first number below 0 is the last ballot after so many steps, which follows an epoch."""
import os
import runpy
import signal
import sys
import time

from ringrt.handle import Handle

COLLECTIVE = {f"ringrt_{name}" for name in ("allreduce", "reduce_scatter", "all_gather", "broadcast", "barrier", "step")}
FILE = os.path.join(os.path.dirname(os.environ["RINGRT_CHECKPOINT_DIR"]), "lost_at")
call, count, ballots = Handle._call, 0, 0


def is_here(number, name, arguments):
    global count, ballots
    count += 1
    ballots += name == "ringrt_step" and arguments[0] == -number
    return count == number or (ballots == 2 and name == "ringrt_step")


def counted(self, name, *arguments):
    global count
    if name not in COLLECTIVE:
        return call(self, name, *arguments)
    if self.size < 3:
        count = 0
        return call(self, name, *arguments)
    with open(FILE, encoding="ascii") as file:
        number, rank = map(int, file.read().split())
    if not is_here(number, name, arguments):
        return call(self, name, *arguments)
    dies = bool(os.environ.get("RINGRT_EXTENDS"))
    if dies and rank < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    call(self, name, *arguments)
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    if self.rank == rank:
        time.sleep(0.1)  # the other ranks finish theirs
        call(self, "ringrt_barrier")  # finds the loss


Handle._call = counted
del sys.argv[:1]
runpy.run_path(sys.argv[0], run_name="__main__")
