# SPDX-License-Identifier: BSD-3-Clause
"""The backend "ringrt" of torch.distributed, with the real torch: its results compared with Gloo's."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
# As pip installs the package, torch finds it by the backend's name; else it is imported first.
LACKS = support.torch_lacks_backends()
INSTALLED = os.environ.get("RINGRT_INSTALLED")
WORLD = f"""
import os, torch, torch.distributed as dist
{"" if INSTALLED else "import ringrt.torch"}
dist.init_process_group("cpu:ringrt")
total = torch.ones(1003)
dist.all_reduce(total)
assert total[7].item() == dist.get_world_size()
dist.destroy_process_group()
# At another port: a rank that is ahead would meet rank 0's first store, which is about to close.
os.environ["MASTER_PORT"] = os.environ["SECOND_PORT"]
dist.init_process_group("ringrt")
dist.barrier()
dist.destroy_process_group()
"""

# As a torch that has no backends in Python; those of now need more of it to ask for one.
OLDER = """
import torch.distributed as dist
from ringrt.torch import registration
if hasattr(dist.Backend, "_ensure_backend_registered"):
    del dist.Backend._ensure_backend_registered
    registration._create(None, 0, 1, None)
else:
    dist.init_process_group("ringrt", store=dist.HashStore(), rank=0, world_size=1)
"""


@unittest.skipIf(LACKS, LACKS)
class BackendTest(unittest.TestCase):
    def run_ranks(self, size, *command, nodes=1):
        port, second = support.free_port(), support.free_port()
        ranks = [subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": INSTALLED or support.PACKAGE, "RANK": str(rank), "WORLD_SIZE": str(size),
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "SECOND_PORT": str(second), "OMP_NUM_THREADS": "1",
                 "RINGRT_NODE": str(rank * nodes // size)})
            for rank in range(size)]
        said, timed_out = [], False
        for one in ranks:
            try:
                said.append(one.communicate(timeout=support.FAILED_FOR)[0])
            except subprocess.TimeoutExpired:
                timed_out = True
                one.kill()
                said.append(one.communicate()[0])
        text = "\n".join(f"--- rank {rank}\n{out}" for rank, out in enumerate(said))
        self.assertFalse(timed_out or any(one.returncode for one in ranks), text)
        print(*[line for line in said[0].splitlines() if line.startswith("measured:")], sep="\n")

    def checks(self, size, nodes=1):
        self.run_ranks(size, os.path.join(HERE, "backend_checks.py"), nodes=nodes)

    def test_two_ranks(self):
        self.checks(2)

    def test_three_ranks_on_three_nodes(self):
        self.checks(3, nodes=3)

    def test_four_ranks(self):
        self.checks(4)

    def test_a_world_of_its_own(self):
        self.run_ranks(2, "-c", WORLD)


class OlderTorchTest(unittest.TestCase):
    def test_it_is_refused_with_one_line(self):
        said = subprocess.run([sys.executable, "-c", OLDER], stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": INSTALLED or support.PACKAGE}).stderr
        self.assertRegex(said, f"\nRuntimeError: the backend ringrt cannot be used: torch .* {support.NO_BACKEND}.*\n$")


if __name__ == "__main__":
    unittest.main()
