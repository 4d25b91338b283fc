# SPDX-License-Identifier: BSD-3-Clause
"""ringrt.torch.malleable() with the real torch: sizes that come and go, kills, and what comes out."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)
try:
    import torch
except ImportError as error:
    torch, why = None, f"torch cannot be imported: {error}"

TRAIN = os.path.join(support.PACKAGE, "tests", "train_torch.py")
EPOCHS, SAMPLES, STEPS = 3, 203, 13  # of an epoch: 203 samples in steps of 16


@unittest.skipIf(torch is None, "" if torch else why)
class MalleableTest(unittest.TestCase):
    def job(self, kind, pause_s, workers=0, backend="gloo"):
        job = support.Job(TRAIN, kind, pause_s, workers, environment={"BACKEND": backend})
        self.addCleanup(job.close)
        return job

    def seen(self, job):
        """(epoch, step): the samples that were trained with, of all runs."""
        out = {}
        for name in os.listdir(job.folder):
            if name.startswith("seen."):
                for line in job.text(name).splitlines():
                    epoch, step, *samples = map(int, line.split())
                    out.setdefault((epoch, step), []).extend(samples)
        return out

    def check_samples(self, job):
        seen = self.seen(job)
        self.assertEqual(sorted(step for _, step in seen), list(range(EPOCHS * STEPS)))
        for epoch in range(EPOCHS):
            samples = sorted(i for (e, _), some in seen.items() if e == epoch for i in some)
            self.assertEqual(samples, list(range(SAMPLES)), f"epoch {epoch}: not each sample once")

    results = {}  # of undisturbed runs, for all tests: imports are what takes the time here

    def undisturbed(self, kind, size):
        if (kind, size) not in self.results:
            job = self.job(kind, 0)
            job.start(size)
            job.wait()
            self.check_samples(job)
            self.results[kind, size] = torch.load(job.path("result"))
        return self.results[kind, size]

    def resized(self, kind, sizes, backend="gloo"):
        job = self.job(kind, 0.01, backend=backend)
        for size in sizes[:-1]:
            job.start(size)
            names = [f"seen.{job.restart}.{rank}" for rank in range(size)]
            job.wait_for("steps", lambda: all(job.text(name).count("\n") >= 3 for name in names))
            job.ask(size - 1)
            job.wait()
        job.start(sizes[-1])
        job.wait()
        self.check_samples(job)
        return torch.load(job.path("result"))

    def difference(self, one, other):
        self.assertEqual(one["steps"], other["steps"])
        self.assertEqual(one["sched"], other["sched"])
        self.assertEqual(one["plateau"], other["plateau"])
        pairs = list(zip(one["net"].values(), other["net"].values()))
        for i, state in one["opt"]["state"].items():
            pairs += [(state[name], other["opt"]["state"][i][name]) for name in state]
        return max(float((a - b).abs().max() / (b.abs().max() + 1e-30)) for a, b in pairs)

    def test_every_size_comes_to_the_same_weights(self):
        at_full = self.undisturbed("distributed", 4)
        for size in (1, 2):
            self.assertLess(self.difference(self.undisturbed("distributed", size), at_full), 1e-9)

    def test_resizes_lose_no_step_and_no_sample(self):
        got = self.resized("distributed", (1, 4, 2, 1))
        self.assertLess(self.difference(got, self.undisturbed("distributed", 4)), 1e-9)

    def test_a_sampler_that_knows_no_ranks_is_shared_out_and_ringrt_moves_the_gradients(self):
        got = self.resized("shuffled", (2, 4), backend="cpu:ringrt")
        self.assertLess(self.difference(got, self.undisturbed("shuffled", 1)), 1e-9)

    def test_killed_and_resumed_at_the_same_size_it_has_the_same_bits(self):
        job = self.job("distributed", 0.01, 1)
        job.start(2)
        job.wait_for("steps", lambda: job.text("seen.0.0").count("\n") >= 4)
        job.ask()
        job.wait()  # a checkpoint
        job.start(2)
        job.wait_for("more steps", lambda: job.text("seen.1.0").count("\n") >= 3)
        job.kill()  # and what came after it is done again
        job.start(2)
        job.wait()
        self.assertEqual(self.difference(torch.load(job.path("result")), self.undisturbed("distributed", 2)), 0.0)


if __name__ == "__main__":
    if torch is None:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
