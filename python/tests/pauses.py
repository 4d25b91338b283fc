# SPDX-License-Identifier: BSD-3-Clause
"""How long a step of the trainings takes, which tests change while they run."""
import os


def slowed(pause_s):
    """A file `break` in DIRECTORY says how many seconds a step takes: 0.3 if it is empty."""
    try:
        with open(os.path.join(os.environ["DIRECTORY"], "break"), encoding="ascii") as file:
            return float(file.read() or 0.3)
    except FileNotFoundError:
        return pause_s
