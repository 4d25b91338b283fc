# SPDX-License-Identifier: BSD-3-Clause
"""Ranks as processes on this machine, and a script in Slurm's place: it takes the ranks down soon after
it was asked for the requeue. What is not real here is Slurm alone (tests/cluster has the real one)."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAILED_FOR = 300  # seconds until a test gives up


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


NO_BACKEND = "accepts no backend written in Python"


def torch_lacks_backends():
    """Why the backend "ringrt", and resizes in place, cannot be tested with this torch; empty if they can."""
    import torch
    from torch.distributed import Backend
    return "" if hasattr(Backend, "_ensure_backend_registered") else f"torch {torch.__version__} {NO_BACKEND}"


class Job:
    """A job's life over several runs: `start(size)`, `resize()`, `wait()`."""

    def __init__(self, program, *arguments, environment=None, package=PACKAGE):
        self.program, self.arguments, self.package = program, [str(argument) for argument in arguments], package
        self._environment = environment or {}
        self._temporary = tempfile.TemporaryDirectory(prefix="ringrt-python-")
        self.directory = self._temporary.name
        self.restart, self.ranks = 0, []
        os.mkdir(self.path("pids"))
        with open(self.path("scontrol"), "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\ncd {self.directory}\necho \"$*\" >>calls\n"
                         "[ $1 != requeue ] || { sleep 0.05; kill -TERM $(ls pids) 2>/dev/null; }\n")
        os.chmod(self.path("scontrol"), 0o755)

    def path(self, name):
        return os.path.join(self.directory, name)

    def text(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def start(self, size, malleable="1:4"):
        for name in os.listdir(self.path("pids")):
            os.remove(self.path("pids/" + name))
        self.ranks += self.spawn(size, malleable, f"out.{self.restart}", {})

    def spawn(self, size, malleable, output, more):
        """Ranks of one srun; `more` of their environment."""
        port, started = free_port(), []
        for rank in range(size):
            environment = {
                **os.environ, "PYTHONPATH": os.pathsep.join([self.package, os.environ.get("PYTHONPATH", "")]),
                "SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": str(self.restart), "RINGRT_MALLEABLE": malleable,
                "SLURM_JOB_NAME": "test", "SLURM_NTASKS": str(size), "SLURM_NTASKS_PER_NODE": str(size),
                "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_NODEID": "0", "SLURM_NNODES": "1",
                "SLURM_NODELIST": "127.0.0.1", "PL_TRAINER_DEVICES": str(size), "PL_TRAINER_NUM_NODES": "1",
                "RINGRT_SCONTROL": self.path("scontrol"), "RINGRT_CHECKPOINT_DIR": self.path("ckpt"),
                "RINGRT_TELEMETRY_FILE": self.path("telemetry"), "RANK": str(rank), "WORLD_SIZE": str(size),
                "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "DIRECTORY": self.directory, **self._environment, **more}
            with open(self.path(f"{output}.{rank}"), "w", encoding="utf-8") as out:
                one = subprocess.Popen([sys.executable, self.program, *self.arguments], env=environment, stdout=out,
                                       stderr=subprocess.STDOUT, cwd=self.directory)
            started.append(one)
            with open(self.path(f"pids/{one.pid}"), "w", encoding="ascii"):
                pass
        return started

    def wait_for(self, what, is_true):
        end = time.monotonic() + FAILED_FOR
        while not is_true():
            if time.monotonic() > end or all(one.poll() is not None for one in self.ranks):
                raise AssertionError(f"no {what}:\n{self.outputs()}")
            time.sleep(0.01)

    def outputs(self):
        return "\n".join(f"--- {name}\n{self.text(name)}" for name in sorted(os.listdir(self.directory))
                         if name.startswith("out."))

    def ask(self, rank=0):
        """The controller's signal, to one rank."""
        self.ranks[rank].send_signal(signal.SIGURG)

    def kill(self):
        for one in self.ranks:
            one.kill()
        return self.wait(expected=-signal.SIGKILL)

    def wait(self, expected=0):
        """The ranks' ends; the next start is a restart."""
        statuses = []
        for one in self.ranks:
            try:
                statuses.append(one.wait(FAILED_FOR))
            except subprocess.TimeoutExpired:
                one.kill()
                statuses.append(None)
        said = self.outputs()
        self.ranks = []
        self.restart += 1
        if any(status != expected for status in statuses):
            raise AssertionError(f"the ranks ended with {statuses}, expected {expected}:\n{said}")

    def close(self):
        for one in self.ranks:
            one.kill()
            one.wait()
        self._temporary.cleanup()
