# SPDX-License-Identifier: BSD-3-Clause
"""contrib/examples/train_jax.py with the real jax: resized, it has the losses of a run at fixed size."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

TRAIN = os.path.join(support.PACKAGE, "..", "contrib", "examples", "train_jax.py")
STEPS = 60


class JaxTest(unittest.TestCase):
    def run_sizes(self, sizes):
        """(step, loss, ranks) of every step, in the order in which they were done."""
        job = support.Job(TRAIN, "--steps", STEPS, "--losses", "losses", environment={"JAX_PLATFORMS": "cpu"})
        self.addCleanup(job.close)
        for size in sizes[:-1]:
            done = job.text("losses").count("\n")
            job.start(size, "1:2")
            job.wait_for("steps", lambda: job.text("losses").count("\n") >= done + 3)
            job.ask(size - 1)
            job.wait()
            self.assertNotIn("finished", job.outputs())
        job.start(sizes[-1], "1:2")
        job.wait()
        self.assertIn(f"finished: {STEPS} steps", job.outputs())
        self.assertEqual(job.text("calls").count("requeue"), len(sizes) - 1)
        return [(int(step), float(loss), int(size)) for step, loss, size in map(str.split, job.text("losses").splitlines())]

    def test_a_resized_run_has_the_losses_of_one_at_fixed_size(self):
        fixed, resized = self.run_sizes([1]), self.run_sizes([1, 2, 1])
        self.assertEqual([step for step, _, _ in resized], list(range(STEPS)))  # none lost, none twice
        sizes = [size for _, _, size in resized]
        self.assertEqual([s for i, s in enumerate(sizes) if i == 0 or s != sizes[i - 1]], [1, 2, 1])
        self.assertLess(fixed[-1][1], fixed[0][1] / 2)
        worst = max(abs(mine - other) / other for (_, mine, _), (_, other, _) in zip(resized, fixed))
        print(f"measured: losses differ by {worst:.1e} at most")
        self.assertLess(worst, 1e-4)


if __name__ == "__main__":
    unittest.main()
