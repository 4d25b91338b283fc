# SPDX-License-Identifier: BSD-3-Clause
"""The faults of the soak: each is real, and is undone as a user or administrator would."""
import os
import re
import signal
import time

from cluster_view import is_alive

# Kind and relative frequency.
KINDS = {"kill_rank": 3, "kill_slurmctld": 3, "kill_slurmd": 2, "kill_slurmstepd": 1, "stop_rank": 2, "stop_slurmctld": 1,
         "scancel": 1, "hold": 2, "requeue": 2, "suspend": 2, "signals": 2, "reconfigure": 2, "fill_disk": 2, "node_down": 1, "rigid_comes": 3}


def processes(cluster):
    """(pid, comm, environment) of this cluster's jobs' processes, never slurmctld's."""
    conf = f"SLURM_CONF={cluster}/slurm.conf".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read().split(b"\0")
            with open(f"/proc/{pid}/comm") as file:
                comm = file.read().strip()
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if comm == "slurmstepd" and cwd.startswith(cluster):
            yield int(pid), comm, {}
        elif conf in environ and any(e.startswith(b"SLURM_JOB_ID=") for e in environ):
            yield int(pid), comm, dict(e.split(b"=", 1) for e in environ if b"=" in e)


class Injector:
    def __init__(self, soak):
        self.soak, self.counts, self.resumed = soak, {}, 0
        self.later = []       # (when, the function that undoes a fault)
        self.killed_s = 0.0   # when slurmctld was killed last
        self.down = {}        # nodes that a fault has taken down, until when

    def inject(self):
        random = self.soak.faults
        kind = random.choices(list(KINDS), weights=KINDS.values())[0]
        fraction, lasts_s = random.random(), random.uniform(1, 15)
        done = getattr(self, kind)(fraction, lasts_s)
        self.counts[kind] = self.counts.get(kind, 0) + bool(done)
        self.soak.say(f"fault {sum(self.counts.values())}: {kind}" if done else f"nothing to inject {kind} into")

    def undo_in(self, seconds, what):
        self.later.append((time.monotonic() + seconds, what))

    def repair(self, over):
        """Undoes the faults that are due, and resumes drained nodes, as an administrator would."""
        now = time.monotonic()
        due = [what for when, what in self.later if over or when <= now]
        self.later = [(when, what) for when, what in self.later if not (over or when <= now)]
        for what in due:
            what()
        if int(now) % 5 == 0 and self.slurmctld_is_up():
            for node in sorted(self.soak.view.out):
                if self.down.get(node, 0) < now:
                    self.tool("start", node)
                    reason = self.soak.ask("sinfo", "-h", "-n", node, "-o", "%E %t") or ""
                    self.soak.say(f"resuming {node}: {reason}")
                    self.soak.ask("scontrol", "update", f"nodename={node}", "state=resume")
                    self.resumed += 1
                    self.down[node] = now + 10

    def tool(self, action, name):
        return os.system(f"{self.soak.cluster_tool} daemon {self.soak.dir} {action} {name} >/dev/null 2>&1")

    def slurmctld_is_up(self):
        return os.path.exists(f"{self.soak.dir}/run/slurmctld")

    def pick(self, fraction, states, hurt=True, kinds=("plain", "train", "rigid")):
        """One of the jobs in these states, or None."""
        able = sorted(j for j, job in self.soak.jobs.items() if self.soak.seen.get(j, {}).get("state") in states and job.kind in kinds)
        if not able:
            return None
        job = self.soak.jobs[able[int(fraction * len(able))]]
        if hurt:
            job.hurt = time.time()
        return job

    def ranks_of(self, job):
        ident = str(job.id).encode()
        return sorted(pid for pid, _, env in processes(self.soak.dir) if env.get(b"SLURM_JOB_ID") == ident and b"SLURM_PROCID" in env)

    # ---- one function for each kind: returns True if it was injected -------------------------------

    def signal_rank(self, fraction, number):
        job = self.pick(fraction, {"RUNNING"}, kinds=("plain", "train"))
        ranks = self.ranks_of(job) if job else []
        if not ranks:
            return None
        pid = ranks[int(fraction * 7919) % len(ranks)]
        try:
            os.kill(pid, number)
        except OSError:
            return None
        self.soak.say(f"signal {number} to a rank of job {job.id} ({job.kind})")
        return pid

    def kill_rank(self, fraction, _):
        return self.signal_rank(fraction, signal.SIGKILL) is not None

    def stop_rank(self, fraction, lasts_s):
        pid = self.signal_rank(fraction, signal.SIGSTOP)
        if pid is None:
            return False
        self.undo_in(lasts_s, lambda: is_alive(pid) and os.kill(pid, signal.SIGCONT))
        return True

    def kill_slurmctld(self, _, lasts_s):
        newest = max((job.submitted for job in self.soak.jobs.values()), default=0)
        if not self.slurmctld_is_up() or time.time() - newest < 10:
            return False  # a job number given twice drains a node, with every scheduler
        self.soak.say("kill -9 slurmctld")
        self.killed_s = time.time()
        self.tool("kill", "slurmctld")
        self.undo_in(lasts_s / 2, lambda: self.tool("start", "slurmctld"))
        return True

    def stop_slurmctld(self, _, lasts_s):
        state, pid = self.slurmctld_is_up(), self.soak.watch.pid
        if not state or not is_alive(pid):
            return False
        os.kill(pid, signal.SIGSTOP)
        time.sleep(min(lasts_s, 2))
        os.kill(pid, signal.SIGCONT)
        return True

    def kill_slurmd(self, fraction, lasts_s):
        node = f"n{1 + int(fraction * 4)}"
        self.soak.say(f"kill -9 slurmd of {node}")
        self.down[node] = time.monotonic() + 4 * lasts_s + 10
        for job in self.soak.jobs.values():
            if node in self.soak.seen.get(job.id, {}).get("gpus", {}):
                job.hurt = time.time()
        self.tool("kill", node)
        self.undo_in(4 * lasts_s, lambda: self.tool("start", node))
        return True

    def kill_slurmstepd(self, fraction, _):
        found = sorted(pid for pid, comm, _ in processes(self.soak.dir) if comm == "slurmstepd")
        if not found:
            return False
        pid = found[int(fraction * len(found))]
        for job in self.soak.jobs.values():
            job.hurt = time.time()
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                title = file.read(200)  # slurmstepd: [178.0]
            os.kill(pid, signal.SIGKILL)
        except OSError:
            return False
        self.soak.say(f"kill -9 {title.rstrip(chr(0))}")
        step = re.search(r"\[(\d+)\.\d+\]", title)
        if step:  # not the batch script's
            self.requeue_if_stuck(int(step.group(1)))
        return True

    def requeue_if_stuck(self, job_id):
        """Slurm never notifies srun of a step whose slurmstepd was killed: the task keeps running, and
        srun waits until the time limit, with or without ringrt. An administrator requeues the job."""
        restarts = self.soak.seen.get(job_id, {}).get("restarts")

        def attempt():
            now = self.soak.seen.get(job_id, {})
            if job_id in self.soak.jobs and now.get("state") == "RUNNING" and now.get("restarts") == restarts:
                self.soak.say(f"job {job_id} still waits for a slurmstepd that was killed: requeued")
                self.soak.ask("scontrol", "requeue", str(job_id))
        self.undo_in(60, attempt)

    def scancel(self, fraction, _):
        job = self.pick(fraction, {"RUNNING", "PENDING"})
        if job and self.soak.ask("scancel", str(job.id)) is not None:
            job.cancelled = True
            return True
        return False

    def hold(self, fraction, lasts_s):
        job = self.pick(fraction, {"PENDING", "RUNNING"}, hurt=False)
        if not job or self.soak.ask("scontrol", "hold", str(job.id)) is None:
            return False
        self.undo_until_done(lasts_s, job.id, lambda: self.control("release", job.id))
        return True

    def control(self, what, job_id):
        return self.soak.ask("scontrol", what, str(job_id)) is not None

    def resume(self, job_id):
        """If slurmctld is killed before it has saved a suspension, it records the job as running. The
        job's processes stay stopped until it is suspended once more."""
        if self.control("resume", job_id):
            return True
        if self.soak.seen.get(job_id, {}).get("state") != "RUNNING":
            return False
        return self.control("suspend", job_id) and self.control("resume", job_id)

    def undo_until_done(self, seconds, job_id, undo):
        """Retries a request while slurmctld is down: otherwise the soak itself leaves the job waiting forever."""
        def attempt(left=20):
            if job_id in self.soak.jobs and not undo() and left > 0:
                self.undo_in(3, lambda: attempt(left - 1))
        self.undo_in(seconds, attempt)
        self.undo_in(seconds + 15, attempt)  # slurmctld may be killed before it has saved the first attempt

    def requeue(self, fraction, _):
        job = self.pick(fraction, {"RUNNING"})
        return bool(job) and self.soak.ask("scontrol", "requeue", str(job.id)) is not None

    def suspend(self, fraction, lasts_s):
        job = self.pick(fraction, {"RUNNING"}, hurt=False)
        if not job or self.soak.ask("scontrol", "suspend", str(job.id)) is None:
            return False
        self.undo_until_done(lasts_s, job.id, lambda: self.resume(job.id))
        return True

    def signals(self, fraction, _):
        job = self.pick(fraction, {"RUNNING"}, kinds=("plain", "train"))
        return bool(job) and all(self.soak.ask("scancel", "--signal=URG", str(job.id)) is not None for _ in range(20))

    def reconfigure(self, *_):
        return self.soak.ask("scontrol", "reconfigure") is not None

    def fill_disk(self, _, lasts_s):
        if not self.soak.mounted:
            return False
        filler = f"{self.soak.work}/disk/filler"
        with open(filler, "wb", buffering=0) as out:
            try:
                while out.write(bytes(65536)) == 65536:
                    pass
            except OSError:
                pass
        self.undo_in(lasts_s, lambda: os.path.exists(filler) and os.remove(filler))
        return True

    def node_down(self, fraction, lasts_s):
        node = f"n{1 + int(fraction * 4)}"
        for job in self.soak.jobs.values():
            if node in self.soak.seen.get(job.id, {}).get("gpus", {}):
                job.hurt = time.time()
        if self.soak.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=soak") is None:
            return False
        self.soak.say(f"{node} down")
        self.down[node] = time.monotonic() + 2 * lasts_s
        return True

    def rigid_comes(self, fraction, lasts_s):
        gpus = 4 if fraction < 0.5 else 8
        return self.soak.ask("sbatch", "-o", "/dev/null", f"--gpus={gpus}", f"--nodes={gpus // 4}", "--wrap", f"sleep {lasts_s:.0f}") is not None
