#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The watcher of the fault tests detects violations of I5, I6 and I9, on mock snapshots of a cluster."""
import json
import os
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../faults"))
from invariants import Watch, parse_job  # noqa: E402

RESIZED = json.dumps({"job": 9, "event": "resized", "from": 1, "to": 2, "text": "running again with 2 GPUs, 1.5 s after the signal"})
JOINED = json.dumps({"job": 9, "event": "resized", "from": 1, "to": 2, "text": "resized in place: 2 GPUs (were 1)"})
REQUEUED = json.dumps({"job": 9, "event": "requeued", "outcome": "recovered", "text": "requeued"})


def look(time_s, pid, state, events=()):
    job = {"id": 9, "state": state, "eligible": 5, "gpus": {}, "intent": {}, "reason": ""}
    return SimpleNamespace(time_s=time_s, slurmctld="up", slurmctld_pid=pid, squeue_ms=1, events=list(events), logs={},
                           checkpoints={}, nodes={}, out=set(), jobs=[job])


def runs_with(indices, asks):
    """A job of 1:4, as scontrol shows it."""
    job = parse_job(f"JobId=9 JobState=RUNNING Reason=None Restarts=0 EligibleTime=5 TresPerJob=gres/gpu:{asks} "
                    f"Nodes=n1 CPU_IDs=0-3 Mem=0 GRES=gpu:{len(indices)}(IDX:{','.join(map(str, indices))}) AdminComment=malleable/1 min=1 max=4")
    now = look(1, 1, "RUNNING")
    now.jobs, now.nodes = [job], {"n1": 4}
    return now


CASES = [
    ("as many GPUs as it asks for", [runs_with([0, 1], 2)], False),
    ("fewer GPUs than it asks for", [runs_with([0, 1], 4)], True),
    ("a size that it never may have", [runs_with([0, 1, 2], 3)], True),
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
