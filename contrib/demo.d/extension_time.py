#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shows where extensions hold GPU time without computing, from Slurm's logs and the step logs.

usage: extension_time.py KEEP/live   after contrib/demo --keep KEEP"""
import glob
import os
import re
import sys
from datetime import datetime

import jobs as demo_jobs
import result as demo_result

HERE = os.path.dirname(os.path.realpath(__file__))
PARTS = ("Slurm starts batch script, srun, tasks", "program starts, asks, joins at a step", "ranks end", "step ends",
         "batch script ends")


def moments(paths, pattern, pick):
    """{job: Unix time} of the lines in Slurm's logs that match the pattern; `pick` chooses among a job's."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if match := re.match(r"\[(\S+)\] .*" + pattern, line):
                    job, time_s = int(match[2]), datetime.fromisoformat(match[1]).timestamp()
                    found[job] = pick(found.get(job, time_s), time_s)
    return found


class Logs:
    def __init__(self, directory):
        controller = [os.path.join(directory, "log", "slurmctld.log")]
        nodes = glob.glob(os.path.join(directory, "log", "n[0-9].log"))
        self.submitted = moments(controller, r"submit_batch_job: JobId=(\d+)", min)
        self.started = moments(controller, r"(?:Started|Allocate) JobId=(\d+)", min)
        self.done = moments(controller, r"_job_complete: JobId=(\d+) done", max)
        self.tasks = moments(nodes, r"\[(\d+)\.0\] task \d+ \(\d+\) started", max)
        self.ends = moments(nodes, r"\[(\d+)\.0\] task \d+ \(\d+\) exited", max)
        self.step_ends = moments(nodes, r"\[(\d+)\.batch\] task 0 \(\d+\) exited", max)


def extensions(events, ids):
    """[(job, base, GPUs)]: they are submitted in the order of the event log."""
    sizes = [(event["job"], int(gpus)) for event in events if event.get("event") == "extension"
             for gpus in re.findall(r"\d+", (re.search(r"extensions? of ([\d, ]+) GPU.*submitted", event["text"])
                                             or ["", ""])[1])]
    return [(job, *size) for job, size in zip(ids, sizes)]


def times(training, mine, logs):
    """(extension, GPUs, [seconds of each part]) for each that joins or leaves."""
    waiting, joined = list(mine), []
    for before, after in zip(training.phases, training.phases[1:]):
        change = after.gpus - before.gpus
        if change > 0:
            one = next((one for one in waiting if one[2] == change and logs.started[one[0]] < after.start_s), None)
            if one is None:
                continue  # by requeue
            waiting.remove(one)
            joined.append(one)
            job = one[0]
            yield job, one[2], [logs.tasks[job] - logs.started[job], after.begin_s - logs.tasks[job], 0, 0, 0]
        while change < 0 and joined:
            job, _, gpus = joined.pop()
            change += gpus
            marks = [before.end_s, logs.ends[job], logs.step_ends[job], logs.done[job]]
            yield job, gpus, [0, 0, *(b - a for a, b in zip(marks, marks[1:]))]


def main():
    directory = sys.argv[1]
    way = demo_result.load("live", directory, demo_jobs.load(os.path.join(HERE, "jobs.tsv")))
    logs = Logs(directory)
    events = demo_result.read_events(os.path.join(directory, "malleable_events.jsonl"))
    bases = {training.id for training in way.results}
    all_of = extensions(events, sorted(set(logs.submitted) - bases))
    sums = [0.0] * len(PARTS)
    for training in way.results:
        mine = [one for one in all_of if one[1] == training.id and one[0] in logs.started]
        for job, gpus, parts in times(training, mine, logs):
            print(f"{training.name:8} extension {job:3} of {gpus} GPUs: " + "  ".join(f"{part:5.2f}" for part in parts) + " s")
            sums = [total + gpus * max(0.0, part) for total, part in zip(sums, parts)]
    held_s = sum(training.use.held_s for training in way.results)
    for name, total in zip(PARTS, sums):
        print(f"{name:40} {total:6.1f} GPU s {total / held_s:7.2%}")
    print(f"{'all of it':40} {sum(sums):6.1f} GPU s {sum(sums) / held_s:7.2%}; as the demo counts: {way.idle_share:.2%}")


if __name__ == "__main__":
    main()
