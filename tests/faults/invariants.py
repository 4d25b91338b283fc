# SPDX-License-Identifier: BSD-3-Clause
"""The invariants of the fault matrix, judged from outside: Slurm's own listings, the plugin's event
log, the jobs' logs and the checkpoints on disk. Pure: text in, violations out.

Watch.look() takes one Snapshot after another. Each rule that it evaluates counts as one check."""
import json
import re
from dataclasses import dataclass, field

ANSWER_MS = 3000        # limit for squeue on a small machine that also runs every daemon and job
RESTART_S = 60          # I12
FORGOTTEN_S = 12        # slurmctld may have lost what it did this long before kill -9
ENDED = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"}


@dataclass
class Snapshot:
    time_s: float
    squeue_ms: float = 0            # answer time; -1: no answer
    slurmctld: str = "up"           # "up", "down" (the test stopped it), "dead" (it died)
    slurmctld_pid: int = 0
    jobs: list = field(default_factory=list)    # from parse_job; None: slurmctld did not answer
    nodes: dict = field(default_factory=dict)   # name -> GPUs
    out: set = field(default_factory=set)       # nodes that accept no job
    events: list = field(default_factory=list)  # lines of the event log since the last snapshot
    logs: dict = field(default_factory=dict)    # a job's log -> its new lines
    checkpoints: dict = field(default_factory=dict)  # directory -> what is wrong with it, or ""


def field_of(line, name):
    found = re.search(r"(?:^| )%s=(\S*)" % re.escape(name), line)
    return found.group(1) if found else ""


def expand(nodelist):
    """n[1-3,5],m7 -> n1 n2 n3 n5 m7"""
    names = []
    for prefix, inner, suffix in re.findall(r"([^,\[\]]+)(?:\[([^\]]*)\])?([^,\[\]]*),?", nodelist):
        for part in inner.split(",") if inner else [None]:
            if part is None:
                names.append(prefix + suffix)
                continue
            first, _, last = part.partition("-")
            names += [f"{prefix}{n:0{len(first)}d}{suffix}" for n in range(int(first), int(last or first) + 1)]
    return names


def parse_job(line):
    job = {"id": int(field_of(line, "JobId") or 0), "state": field_of(line, "JobState"),
           "reason": field_of(line, "Reason"), "restarts": int(field_of(line, "Restarts") or 0),
           "eligible": field_of(line, "EligibleTime"), "gpus": {}, "intent": None}
    found = re.search(r"TresPerJob=\S*?gpu\S*:(\d+)", line)
    job["requested"] = int(found.group(1)) if found else 0
    for nodes, count, indices in re.findall(r" Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=gpu\S*?:(\d+)\(IDX:([0-9,-]*)\)", line):
        for node in expand(nodes):
            job["gpus"][node] = indices_of(indices)
    found = re.search(r"malleable/1 (.*?)(?:  |$)", line)
    if found:
        job["intent"] = dict(pair.split("=", 1) for pair in found.group(1).split() if "=" in pair)
    return job


def indices_of(text):
    out = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def on_ladder(gpus, low, high):
    size = low
    while size < gpus:
        size *= 2
    return size == gpus and low <= gpus <= high


class JobLog:
    """The state of one job's log so far (tests/cluster/plain_job.sh writes it)."""
    def __init__(self):
        self.step, self.saved, self.graceful = 0, 0, False

    def take(self, line):
        """The violations in one line."""
        words = line.split()
        if words[:1] == ["step"] and len(words) > 1:
            step, before = int(words[1]), self.step
            self.step, self.graceful = step, False
            return [] if step == before + 1 else [("I4", f"step {step} after {before}: two incarnations, or steps lost")]
        if words[:1] == ["save"] and words[1].isdigit():
            self.saved, self.graceful = int(words[1]), True
        if words[:1] == ["start"]:
            step = int(field_of(line, "step") or 0)
            lowest, highest = self.saved, self.step
            self.step, self.graceful = step, False
            if step < lowest:
                return [("I2", f"starts at step {step}, although {lowest} was saved")]
            if step > highest:
                return [("I4", f"starts at step {step}, which nobody has done (last: {highest})")]
        return []


class Watch:
    def __init__(self):
        self.checks, self.violations = {}, []
        self.pid, self.logs, self.completed = 0, {}, {}
        self.waits_since, self.asked, self.resized = {}, {}, {}
        self.last, self.undone = {}, {}     # a job's last resize; resizes that slurmctld may have lost
        self.forgotten = set()              # jobs whose completion slurmctld may have lost
        self.worst_ms, self.snapshots, self.slow, self.away_s = 0, 0, 0, 0

    def check(self, rule, good, text):
        self.checks[rule] = self.checks.get(rule, 0) + 1
        if not good and (rule, text) not in self.violations:
            self.violations.append((rule, text))

    def look(self, now):
        self.snapshots += 1
        self.look_at_events(now)
        self.look_at_slurmctld(now)
        self.look_at_logs(now)
        for directory, wrong in now.checkpoints.items():
            self.check("I3", not wrong, f"{directory}: {wrong}")
        if now.jobs is None or now.slurmctld != "up":
            self.waits_since.clear()
            self.away_s = now.time_s
            return
        self.look_at_jobs(now)
        self.look_at_waiting(now)

    def look_at_slurmctld(self, now):
        self.check("I1", now.slurmctld != "dead", "slurmctld has died by itself")
        if self.pid and now.slurmctld_pid != self.pid:
            self.forget_with_slurmctld(now)
        self.pid = now.slurmctld_pid
        if now.slurmctld != "up":
            return
        answered = 0 <= now.squeue_ms <= ANSWER_MS
        self.worst_ms = max(self.worst_ms, now.squeue_ms)
        self.slow = 0 if answered else self.slow + 1
        # Once: the machine was busy, or slurmctld was just started. Three times: it hangs.
        self.check("I1", self.slow < 3, f"squeue took {now.squeue_ms:.0f} ms, three times in a row")

    def forget_with_slurmctld(self, now):
        """The end of slurmctld undoes a resize that it has not saved: the same resize may be done again.
        slurmctld records a job as running if it has not saved its completion, and Slurm itself runs
        the job again if its node has no process of it. The controller must not."""
        for job_id, (when, sizes) in self.last.items():
            if now.time_s - when < FORGOTTEN_S:
                self.undone[job_id] = sizes
        for job_id, (when, _) in list(self.completed.items()):
            if now.time_s - when < FORGOTTEN_S:
                self.forgotten.add(job_id)
                del self.completed[job_id]

    def look_at_jobs(self, now):
        owner = {}
        for job in now.jobs:
            for node, indices in job["gpus"].items():
                if job["state"] in ENDED | {"PENDING"}:
                    continue
                self.check("I7", node in now.nodes and len(indices) <= now.nodes[node], f"job {job['id']} has {len(indices)} GPUs of {node}")
                for index in indices:
                    other = owner.setdefault((node, index), job["id"])
                    self.check("I7", other == job["id"], f"GPU {index} of {node} belongs to jobs {other} and {job['id']}")
            self.look_at_end(now, job)
            intent = job["intent"]
            if intent and job["state"] == "RUNNING":
                held = sum(len(i) for i in job["gpus"].values())
                low, high = int(intent.get("min", 1)), int(intent.get("max", 1))
                asks = job["requested"] or held
                self.check("I6", held == 0 or held == asks and on_ladder(held, low, high), f"job {job['id']} of {low}:{high} asks for {asks} GPUs and runs with {held}")

    def look_at_end(self, now, job):
        before = self.completed.get(job["id"])
        if job["state"] == "COMPLETED":
            self.completed.setdefault(job["id"], (now.time_s, job["eligible"]))
        elif before is not None and job["eligible"] == before[1]:
            self.check("I9", False, f"job {job['id']} was COMPLETED and is {job['state']}")
        if before is not None:
            self.check("I9", True, "")

    def look_at_waiting(self, now):
        free = {node: gpus for node, gpus in now.nodes.items() if node not in now.out}
        rigid_waits = False
        for job in now.jobs:
            rigid_waits |= job["state"] == "PENDING" and not job["intent"] and job["reason"] in ("Resources", "Priority", "None")
            for node, indices in job["gpus"].items():
                if job["state"] not in ENDED | {"PENDING"} and node in free:
                    free[node] -= len(indices)
        waiting = set()
        for job in now.jobs:
            intent = job["intent"]
            if not intent or job["state"] != "PENDING" or job["reason"] not in ("Resources", "Priority", "None", "BeginTime"):
                continue
            if rigid_waits or float(intent.get("asked", 0)) <= 0 or max(free.values(), default=0) < int(intent["min"]):
                continue
            waiting.add(job["id"])
            since = self.waits_since.setdefault(job["id"], now.time_s)
            self.check("I12", now.time_s - since < RESTART_S, f"job {job['id']} waits {now.time_s - since:.0f} s although GPUs are free")
        for job_id in set(self.waits_since) - waiting:
            del self.waits_since[job_id]

    def look_at_events(self, now):
        for line in now.events:
            try:
                event = json.loads(line)
            except ValueError:
                self.check("I14", False, f"not JSON in the event log: {line[:80]!r}")
                continue
            self.check("I14", bool(event.get("text")), f"an event without a word: {line[:120]}")
            job, kind = event.get("job"), event.get("event")
            if kind == "asked":
                self.asked[job] = self.asked.get(job, 0) + 1
            if kind == "requeued" and event.get("outcome") == "recovered":
                self.check("I9", job not in self.forgotten, f"job {job} was COMPLETED, and we had it requeued")
            # In place, no job is asked if an extension is lost, or rejoins because the one below it left.
            if kind == "resized" and "in place" not in event.get("text", ""):
                sizes = (event.get("from"), event.get("to"))
                self.last[job] = (now.time_s, sizes)
                again = self.undone.pop(job, None) == sizes
                self.resized[job] = self.resized.get(job, 0) + (not again)
                self.check("I5", self.resized[job] <= self.asked.get(job, 0), f"job {job} was resized more often than asked")

    def look_at_logs(self, now):
        for name, lines in now.logs.items():
            log = self.logs.setdefault(name, JobLog())
            for line in lines:
                found = log.take(line)
                self.check("I2", not [v for v in found if v[0] == "I2"], f"{name}: {found}")
                self.check("I4", not [v for v in found if v[0] == "I4"], f"{name}: {found}")

    def summary(self):
        return {"snapshots": self.snapshots, "checks": dict(sorted(self.checks.items())),
                "violations": [f"{rule}: {text}" for rule, text in self.violations],
                "squeue_worst_ms": round(self.worst_ms)}
