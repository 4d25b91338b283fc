# SPDX-License-Identifier: BSD-3-Clause
"""The demo's queries to Slurm, with Slurm's own commands."""
import os
import re
import subprocess
from datetime import datetime

ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}


def output_of(command, more_env=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False,
                          env={**os.environ, **(more_env or {})})
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip() or 'failed'}")
    return done.stdout


def submit(options, more_env):
    return int(output_of(["sbatch", "--parsable", *options], more_env).split(";")[0])


def states():
    """{job id: state}"""
    lines = output_of(["squeue", "--noheader", "--states=all", "--format=%A %T"]).splitlines()
    return {int(job): state for job, state in map(str.split, lines)}


def parse_held(text):
    """{name of a training: GPUs of its job and of its extensions, which are named NAME+1, NAME+2 ...}"""
    held = {}
    for name, gpus in map(str.split, text.splitlines()):
        training = name.split("+")[0]
        held[training] = held.get(training, 0) + int(re.search(r"\d*$", gpus).group() or 1)
    return held


def held_gpus():
    """GPUs that are allocated now, including those of completing jobs"""
    return parse_held(output_of(["squeue", "--noheader", "--states=RUNNING,COMPLETING", "--Format=Name:32,tres-per-job:64"]))


def parse_fields(text):
    return dict(part.split("=", 1) for part in text.split() if "=" in part)


def job_end(job):
    """(state, Unix time of its end or None, exit code, restarts)"""
    fields = parse_fields(output_of(["scontrol", "--oneliner", "show", "job", str(job)]))
    end = fields.get("EndTime", "Unknown")
    end_s = None if end in ("Unknown", "None") else datetime.fromisoformat(end).timestamp()
    return fields["JobState"], end_s, fields.get("ExitCode", "?"), int(fields.get("Restarts", "0"))
