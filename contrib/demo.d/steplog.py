# SPDX-License-Identifier: BSD-3-Clause
"""A training program's own step log: step,epoch,loss,gpus,restart,time_s (contrib/examples/digits_log.h)."""
from collections import Counter
from dataclasses import dataclass


@dataclass
class Row:
    step: int
    loss: float
    gpus: int
    restart: int
    time_s: float


def parse_row(line):
    """The row; None for the header or a line torn by a kill."""
    parts = line.rstrip("\n").split(",")
    if len(parts) != 6 or not line.endswith("\n"):
        return None
    try:
        return Row(int(parts[0]), float(parts[2]), int(parts[3]), int(parts[4]), float(parts[5]))
    except ValueError:
        return None


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return [row for row in map(parse_row, file) if row]
    except FileNotFoundError:
        return []


def lost_steps(rows, steps_total):
    """Steps done more than once, plus steps of 1..steps_total that were never done."""
    done = Counter(row.step for row in rows)
    repeated = sum(times - 1 for times in done.values())
    missing = sum(1 for step in range(1, steps_total + 1) if step not in done)
    return repeated + missing


def loss_difference(rows, others):
    """The largest difference of two loss curves at one step, relative to the loss (taken as at least 0.01)."""
    loss = {row.step: row.loss for row in others}
    return max((abs(row.loss - loss[row.step]) / max(loss[row.step], 0.01) for row in rows if row.step in loss),
               default=0.0)


@dataclass
class Phase:
    """Training on `gpus` GPUs without a break, from the end of its first step to the end of its last."""
    gpus: int
    start_s: float
    end_s: float
    steps: int = 1

    @property
    def step_s(self):
        """The usual length of a step; None if there was only one step"""
        return (self.end_s - self.start_s) / (self.steps - 1) if self.steps > 1 else None

    @property
    def begin_s(self):
        return self.start_s - (self.step_s or 0.0)


def phases(rows):
    result = []
    run = None
    for row in rows:
        if (row.restart, row.gpus) != run:
            result.append(Phase(row.gpus, row.time_s, row.time_s, 0))
            run = (row.restart, row.gpus)
        result[-1].end_s = row.time_s
        result[-1].steps += 1
    return result


def pauses_s(all_phases):
    """How long training was paused at each resize: from the last step before it to the first one after it, minus
    that step itself."""
    return [max(0.0, b.start_s - a.end_s - (b.step_s or a.step_s or 0.0)) for a, b in zip(all_phases, all_phases[1:])]
