# SPDX-License-Identifier: BSD-3-Clause
"""Submits the demo's jobs at their times to the cluster of $SLURM_CONF, shows how many GPUs each has until all
have ended, and writes the results to OUT/run.json. Exit status 1: not all ended in time."""
import argparse
import json
import os
import sys
import time

import jobs as demo_jobs
import slurm
import steplog
from screen import Screen


class Run:
    def __init__(self, options):
        self.options = options
        self.jobs = demo_jobs.load(options.jobs)
        self.ids = {}        # name -> job id
        self.submitted = {}  # name -> Unix time
        self.start_s = time.time()
        self.screen = Screen(options.gpus_total)
        self.held = []       # (Unix time, {name: GPUs allocated to the training}), sampled

    def path(self, job, suffix):
        return os.path.join(self.options.out, job.name + suffix)

    def submit_due(self):
        for job in self.jobs:
            if job.name not in self.ids and time.time() - self.start_s >= job.arrival_s:
                self.submitted[job.name] = time.time()
                in_place = {"RINGRT_LIVE_RESIZE": "1"} if self.options.mode == "live" else {}
                self.ids[job.name] = slurm.submit(self.sbatch_options(job), in_place)

    def sbatch_options(self, job):
        if self.options.mode == "stock":
            nodes = max(1, job.gpus_fixed // self.options.gpus_per_node)
            size = [f"--gpus={job.gpus_fixed}", f"--ntasks={job.gpus_fixed}", f"--nodes={nodes}"]
        else:
            size = [f"--malleable={job.gpus_min}:{job.gpus_max}"]
        program = [f"--epochs={job.epochs}", f"--seed={job.seed}", f"--data={self.options.data}",
                   f"--device-ms-per-sample={self.options.device_ms}",
                   f"--loss-csv={self.path(job, '.csv')}", f"--json={self.path(job, '.json')}"]
        if self.options.mode == "live" and not self.options.torch:
            program += ["--live-resize", "--one-allreduce"]
        return [*size, f"--job-name={job.name}", f"--output={self.path(job, '.log')}", "--open-mode=append",
                f"--chdir={self.options.out}", self.options.script, *program]

    def snapshot(self, states):
        held = slurm.held_gpus()
        self.held.append((time.time(), held))
        rows = []
        for job in self.jobs:
            state = states.get(self.ids.get(job.name), "-").lower()
            last = self.last_row(job)
            rows.append((job.name, held.get(job.name, 0), state, last.step if last else 0, job.steps))
        return rows

    def last_row(self, job):
        try:
            with open(self.path(job, ".csv"), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 400))
                lines = file.read().decode("ascii", "replace").splitlines(keepends=True)
        except FileNotFoundError:
            return None
        rows = [row for row in map(steplog.parse_row, lines) if row]
        return rows[-1] if rows else None

    def finished(self, states):
        return len(self.ids) == len(self.jobs) and all(
            states.get(job) in slurm.ENDED for job in self.ids.values())

    def watch(self):
        """True if all jobs have ended before the deadline."""
        while time.time() - self.start_s < self.options.deadline_s:
            self.submit_due()
            states = slurm.states()
            self.screen.show(time.time() - self.start_s, self.snapshot(states))
            if self.finished(states):
                return True
            time.sleep(0.25)
        return False

    def record(self):
        records = []
        for job in self.jobs:
            state, end_s, exit_code, restarts = slurm.job_end(self.ids[job.name])
            records.append({"name": job.name, "id": self.ids[job.name], "state": state, "exit_code": exit_code,
                            "restarts": restarts, "submit_s": self.submitted[job.name], "end_s": end_s})
        with open(os.path.join(self.options.out, "run.json"), "w", encoding="utf-8") as file:
            json.dump({"mode": self.options.mode, "start_s": self.start_s, "jobs": records, "held": self.held}, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=["stock", "requeue", "live"], required=True)
    for name in ("jobs", "out", "script", "data"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--torch", action="store_true", help="the program is contrib/examples/digits_cnn.py")
    parser.add_argument("--gpus-total", type=int, default=16)
    parser.add_argument("--gpus-per-node", type=int, default=4)
    parser.add_argument("--device-ms", type=float, default=10)
    parser.add_argument("--deadline-s", type=float, default=240)
    run = Run(parser.parse_args())
    ended = run.watch()
    if not ended:
        missing = [job.name for job in run.jobs if job.name not in run.ids]
        print(f"demo: not all jobs ended within {run.options.deadline_s:.0f} s{', not submitted: ' if missing else ''}"
              f"{', '.join(missing)}", file=sys.stderr)
        if missing:
            return 1
    run.record()
    return 0 if ended else 1


if __name__ == "__main__":
    sys.exit(main())
