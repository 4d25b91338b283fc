# SPDX-License-Identifier: BSD-3-Clause
"""The few questions that the demo asks Slurm, by its own commands."""
import json
import subprocess
from datetime import datetime

ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip() or 'failed'}")
    return done.stdout


def submit(options):
    return int(output_of(["sbatch", "--parsable", *options]).split(";")[0])


def states():
    """{job id: state}"""
    lines = output_of(["squeue", "--noheader", "--states=all", "--format=%A %T"]).splitlines()
    return {int(job): state for job, state in map(str.split, lines)}


def malleable_gpus():
    """{job id: GPUs that it holds now}, as ringstat tells"""
    return {job["id"]: job["gpus"] for job in json.loads(output_of(["ringstat", "--json", "--states=all"]))["jobs"]}


def parse_fields(text):
    return dict(part.split("=", 1) for part in text.split() if "=" in part)


def job_end(job):
    """(state, Unix time of its end or None, exit code, restarts)"""
    fields = parse_fields(output_of(["scontrol", "--oneliner", "show", "job", str(job)]))
    end = fields.get("EndTime", "Unknown")
    end_s = None if end in ("Unknown", "None") else datetime.fromisoformat(end).timestamp()
    return fields["JobState"], end_s, fields.get("ExitCode", "?"), int(fields.get("Restarts", "0"))
