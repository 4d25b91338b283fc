#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The watcher of the fault tests sees what it is there to see: I9 and I5, on made-up looks at a cluster."""
import json
import os
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../faults"))
from invariants import Watch  # noqa: E402

RESIZED = json.dumps({"job": 9, "event": "resized", "from": 1, "to": 2, "text": "runs again with 2 GPUs, 1.5 s after the signal"})
JOINED = json.dumps({"job": 9, "event": "resized", "from": 1, "to": 2, "text": "resized in place: 2 GPUs (were 1)"})
REQUEUED = json.dumps({"job": 9, "event": "requeued", "outcome": "recovered", "text": "requeued"})


def look(time_s, pid, state, events=()):
    job = {"id": 9, "state": state, "eligible": 5, "gpus": {}, "intent": {}, "reason": ""}
    return SimpleNamespace(time_s=time_s, slurmctld="up", slurmctld_pid=pid, squeue_ms=1, events=list(events), logs={},
                           checkpoints={}, nodes={}, out=set(), jobs=[job])


CASES = [
    ("run again", [look(1, 1, "COMPLETED"), look(2, 1, "RUNNING")], True),
    ("forgotten by slurmctld, run again by Slurm", [look(1, 1, "COMPLETED"), look(5, 2, "RUNNING")], False),
    ("saved long before slurmctld's end", [look(1, 1, "COMPLETED"), look(30, 1, "COMPLETED"), look(31, 2, "RUNNING")], True),
    ("resized, and not asked", [look(1, 1, "RUNNING", [RESIZED])], True),
    ("resized in place, and not asked", [look(1, 1, "RUNNING", [JOINED])], False),
    ("forgotten by slurmctld, run again by us", [look(1, 1, "COMPLETED"), look(5, 2, "RUNNING"), look(9, 2, "RUNNING", [REQUEUED])], True),
]

failed = 0
for name, looks, is_violation in CASES:
    watch = Watch()
    for each in looks:
        watch.look(each)
    if bool(watch.violations) != is_violation:
        print(f"{name}: {watch.violations or 'no violation'}")
        failed = 1
sys.exit(failed)
