# SPDX-License-Identifier: BSD-3-Clause
"""ringrt.torch.DistributedState: models on meshes of two kinds, resharded by DCP for other numbers of ranks."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

TRAIN = os.path.join(support.PACKAGE, "tests", "train_mesh.py")
STEPS = 60


class MeshTest(unittest.TestCase):
    def job(self, kind, pause_s):
        job = support.Job(TRAIN, kind, pause_s)
        self.addCleanup(job.close)
        return job

    def result(self, job):
        import torch
        return torch.load(job.path("result"), weights_only=False)

    def resized(self, kind):
        job = self.job(kind, 0.05)
        for size in (4, 2):
            job.start(size)
            job.wait_for(f"steps on {size} ranks", lambda size=size: job.text("step").endswith(f" {size}"))
            job.ask()
            job.wait()
        job.start(1)
        job.wait()
        fixed = self.job(kind, 0)
        fixed.start(2)
        fixed.wait()
        one, other = self.result(job), self.result(fixed)
        self.assertEqual((len(one["done"]), set(one["done"])), (STEPS, {4, 2, 1}))
        worst = max(float((one["net"][name] - other["net"][name]).abs().max()) for name in other["net"])
        print(f"measured: {kind}: at most {worst:.1e} from two ranks undisturbed", file=sys.stderr)
        self.assertLess(worst, 1e-9)

    def test_hsdp(self):
        self.resized("hsdp")

    def test_tensor_parallel(self):
        self.resized("tp")


if __name__ == "__main__":
    unittest.main()
