# SPDX-License-Identifier: BSD-3-Clause
"""The outcome of one run's jobs, from Slurm's records, the programs' step logs and summaries, and the plugin's
event log."""
import json
import os
from dataclasses import dataclass, field

import gpu_time
import steplog


@dataclass
class Result:
    name: str
    id: int
    state: str
    submit_s: float
    end_s: float
    restarts: int
    rows: list = field(default_factory=list)            # its step log
    phases: list = field(default_factory=list)
    gaps_s: list = field(default_factory=list)          # from the signal until Slurm runs it again
    pauses_s: list = field(default_factory=list)        # in which training was paused, by its own step log
    called_off: int = 0
    lost_steps: int = 0
    lost_samples: int = -1                              # lost or seen twice; -1: not reported
    accuracy: float = 0.0
    use: gpu_time.GpuTime = field(default_factory=gpu_time.GpuTime)

    @property
    def jct_s(self):
        return self.end_s - self.submit_s

    @property
    def sizes(self):
        return [phase.gpus for phase in self.phases]

    @property
    def changes(self):
        return [b - a for a, b in zip(self.sizes, self.sizes[1:]) if a != b]


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def read_events(path):
    events = []
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    events.append(json.loads(line))
                except json.JSONDecodeError:
                    continue  # torn by a crash
    except FileNotFoundError:
        pass
    return events


def result_of(record, job, directory, events, held):
    rows = steplog.read(os.path.join(directory, job.name + ".csv"))
    told = read_json(os.path.join(directory, job.name + ".json"))
    phases = steplog.phases(rows)
    mine = [event for event in events if event.get("job") == record["id"]]
    return Result(
        name=job.name, id=record["id"], state=record["state"], submit_s=record["submit_s"],
        end_s=record["end_s"] or record["submit_s"], restarts=record["restarts"], rows=rows, phases=phases,
        # `started` with a gap: its new size was taken meanwhile, so it restarted at its old size
        gaps_s=[event["gap_s"] for event in mine
                if event.get("event") in ("resized", "started") and event.get("gap_s", 0) > 0],
        pauses_s=steplog.pauses_s(phases),
        called_off=sum(event.get("event") == "called_off" for event in mine),
        lost_steps=steplog.lost_steps(rows, job.steps),
        lost_samples=told.get("samples_lost", -1) + told.get("samples_duplicated", 0),
        accuracy=told.get("accuracy", 0.0),
        use=gpu_time.of(phases, [(time_s, gpus.get(job.name, 0)) for time_s, gpus in held]))


@dataclass
class Way:
    """All jobs of one run: at a fixed size on stock Slurm, resized by requeue, or resized in place."""
    name: str
    start_s: float
    results: list

    def all_of(self, what):
        return [value for result in self.results for value in getattr(result, what)]

    def sum_of(self, what):
        return sum(getattr(result, what) for result in self.results)

    @property
    def mean_jct_s(self):
        return self.sum_of("jct_s") / len(self.results)

    @property
    def idle_share(self):
        """The share of the trainings' held GPU time that was idle because of resizes."""
        return gpu_time.idle_share([result.use for result in self.results])


def load(name, directory, jobs):
    run = read_json(os.path.join(directory, "run.json"))
    if not run:
        raise SystemExit(f"demo: {directory}/run.json is missing: that run did not end")
    events = read_events(os.path.join(directory, "malleable_events.jsonl"))
    records = {record["name"]: record for record in run["jobs"]}
    return Way(name, run["start_s"],
               [result_of(records[job.name], job, directory, events, run.get("held", [])) for job in jobs])
