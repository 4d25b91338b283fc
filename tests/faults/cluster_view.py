# SPDX-License-Identifier: BSD-3-Clause
"""Reads a private cluster (contrib/cluster) and the files of its jobs, as its user would."""
import glob
import os
import re
import subprocess
import time

from invariants import Snapshot, field_of, parse_job

ANSWER_S = 10
TABLE_ROW_BYTES = 32    # libringrt/checkpoint/shard.h


def said_by(*command):
    """Standard output, or None if the command fails or takes too long."""
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        return None
    return run.stdout.decode(errors="replace") if run.returncode == 0 else None


def environment_of(cluster):
    """Of a shell that has read the cluster's env file."""
    shell = subprocess.run(["sh", "-c", '. "$0" && env -0', f"{cluster}/env"], stdout=subprocess.PIPE, check=True)
    return dict(each.split("=", 1) for each in shell.stdout.decode(errors="replace").split("\0") if each)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def slurmctld_of(cluster):
    """("up", pid); ("down", 0) if the test has stopped it; ("dead", 0) if it died."""
    for _ in range(10):  # contrib/cluster kills first and removes the pid file later
        try:
            with open(f"{cluster}/run/slurmctld") as file:
                pid = int(file.read() or 0)
        except (OSError, ValueError):
            return "down", 0
        if is_alive(pid):
            return "up", pid
        time.sleep(0.1)
    return "dead", 0


class Tail:
    """The new complete lines of a file that grows and may be replaced."""
    def __init__(self, path, from_now=False):
        self.path, self.offset, self.inode, self.rest = path, 0, None, b""
        if from_now:
            self.lines()

    def lines(self):
        try:
            with open(self.path, "rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self.inode:
                    self.offset, self.inode, self.rest = 0, inode, b""
                file.seek(self.offset)
                data = self.rest + file.read()
                self.offset = file.tell()
        except OSError:
            return []
        whole, _, self.rest = data.rpartition(b"\n")
        return whole.decode(errors="replace").split("\n") if whole else []


def wrong_with_checkpoints(directory):
    """"" if LATEST names a complete checkpoint of libringrt, or none exists (I3). Checks that every
    part has its full size. The job checks the hashes when it loads the checkpoint."""
    try:
        with open(f"{directory}/LATEST") as latest:
            name = latest.read(512).split("\n")[1].split()[0]
        with open(f"{directory}/{name}/manifest", errors="replace") as manifest:
            lines = manifest.read().splitlines()
    except FileNotFoundError as error:
        return "" if error.filename.endswith("LATEST") else f"LATEST names what is not there: {error}"
    except (OSError, IndexError) as error:
        return f"LATEST: {error}"
    if not lines or not lines[-1].startswith("end "):
        return f"{name}: its manifest is not whole"
    for rank, data, pieces in (line.split()[1:4] for line in lines if line.startswith("shard ")):
        shard = f"{directory}/{name}/shard-{int(rank):05d}"
        size = os.path.getsize(shard) if os.path.exists(shard) else -1
        if size != int(data) + TABLE_ROW_BYTES * int(pieces):
            return f"{name}: shard {rank} has {size} bytes"
    return ""


class View:
    def __init__(self, cluster, work):
        os.environ.update(environment_of(cluster))
        self.cluster, self.work = cluster, work
        self.events, self.logs = Tail(f"{cluster}/log/malleable_events.jsonl", from_now=True), {}
        self.nodes, self.out = {}, set()

    def node_gpus(self):
        told = said_by("scontrol", "-o", "show", "node")
        for line in (told or "").splitlines():
            found = re.search(r"gpu\S*?:(\d+)", field_of(line, "Gres"))
            name, state = field_of(line, "NodeName"), field_of(line, "State")
            self.nodes[name] = int(found.group(1)) if found else 0
            if re.fullmatch(r"(IDLE|MIXED|ALLOCATED)(\+(COMPLETING|PLANNED))*", state):
                self.out.discard(name)
            else:
                self.out.add(name)

    def snapshot(self):
        state, pid = slurmctld_of(self.cluster)
        now = Snapshot(time_s=time.time(), slurmctld=state, slurmctld_pid=pid, jobs=None)
        if state == "up":
            began = time.monotonic()
            answered = said_by("squeue", "-h") is not None
            now.squeue_ms = (time.monotonic() - began) * 1000 if answered else -1
            self.node_gpus()
            told = said_by("scontrol", "-d", "-o", "show", "job")
            if told is not None:
                now.jobs = [parse_job(line) for line in told.splitlines() if line.startswith("JobId=")]
        # What stops during this snapshot is checked again in the next.
        after, pid_after = slurmctld_of(self.cluster)
        if (after, pid_after) != (state, pid):
            now.slurmctld, now.jobs, now.squeue_ms = ("dead" if after == "dead" else "down"), None, 0
        now.nodes, now.out = self.nodes, set(self.out)
        now.events = self.events.lines()
        for path in glob.glob(f"{self.work}/*/log"):
            now.logs[path] = self.logs.setdefault(path, Tail(path)).lines()
        for latest in glob.glob(f"{self.work}/**/LATEST", recursive=True):
            directory = os.path.dirname(latest)
            wrong = wrong_with_checkpoints(directory)
            if wrong:  # it may have been renewed meanwhile
                wrong = wrong_with_checkpoints(directory)
            now.checkpoints[directory] = wrong
        return now
