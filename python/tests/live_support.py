# SPDX-License-Identifier: BSD-3-Clause
"""A training that is resized in place, as processes: what test_live and test_live_sharded have in common."""
import os
import signal
import unittest

import support

try:
    import torch
except ImportError as error:
    torch, why = None, f"torch cannot be imported: {error}"
else:
    why = support.torch_lacks_backends()

TRAIN = os.path.join(support.PACKAGE, "tests", "train_torch.py")
LOST_AT = os.path.join(support.PACKAGE, "tests", "lost_at.py")
SAMPLES, STEPS = 203, 13  # of an epoch: 203 samples in steps of 16


class Training(support.Job):
    """A base job, and extensions of it by number. While it is slow a step takes a second and more."""

    def __init__(self, test, epochs, kind="distributed", workers=0, steps=STEPS, command=None, package=support.PACKAGE,
                 environment=None):
        super().__init__(*(command or (TRAIN, kind, 0.005, workers, epochs)), package=package,
                         environment={"RINGRT_LIVE_RESIZE": "1", **(environment or {})})
        test.addCleanup(self.close_all)
        self.test, self.epochs, self.steps, self.extensions = test, epochs, steps, {}

    def close_all(self):
        for one in (one for ranks in self.extensions.values() for one in ranks):
            one.kill()
            one.wait()
        self.close()

    def directories(self):
        return [self.directory] + [self.path(f"ext{number}") for number in self.extensions]

    def slow(self, is_slow):
        for directory in self.directories():
            name = os.path.join(directory, "break")
            if is_slow:
                open(name, "w", encoding="ascii").close()
            elif os.path.exists(name):
                os.remove(name)

    def extend(self, number, size):
        os.mkdir(self.path(f"ext{number}"))
        self.extensions[number] = self.spawn(size, "1:4", f"out.ext{number}", {
            "RINGRT_EXTENDS": "7", "SLURM_JOB_ID": str(7 + number), "DIRECTORY": self.path(f"ext{number}")})

    def await_ranks(self, ranks, times=1):
        self.wait_for(f"{ranks} ranks", lambda: self.outputs().count(f": {ranks} ranks (were") >= times)

    def await_end(self, number, expected=0):
        statuses = [one.wait(support.FAILED_FOR) for one in self.extensions[number]]
        self.test.assertEqual(statuses, [expected] * len(statuses), self.outputs())

    def leave(self, number, by=signal.SIGURG):
        self.extensions[number][0].send_signal(by)
        self.await_end(number)

    def check(self):
        """Each sample once an epoch, whoever trained with it; the result."""
        self.wait()
        seen = {}
        for directory in self.directories():
            for name in os.listdir(directory):
                if name.startswith("seen."):
                    for line in self.text(os.path.join(directory, name)).splitlines():
                        epoch, step, *samples = map(int, line.split())
                        seen.setdefault((epoch, step), set()).update(samples)
        self.test.assertEqual(sorted(step for _, step in seen), list(range(self.epochs * self.steps)))
        for epoch in range(self.epochs):
            samples = sorted(i for (e, _), some in seen.items() if e == epoch for i in some)
            self.test.assertEqual(samples, list(range(SAMPLES)), f"epoch {epoch}: not each sample once")
        return torch.load(self.path("result"), weights_only=False)


class LiveCase(unittest.TestCase):
    """Compares with a training of one rank that nothing disturbs."""

    def difference(self, one, epochs, kind="distributed"):
        alone = support.Job(TRAIN, kind, 0, 0, epochs)
        self.addCleanup(alone.close)
        alone.start(1)
        alone.wait()
        other = torch.load(alone.path("result"))
        self.assertEqual((one["steps"], one["sched"], one["plateau"]), (other["steps"], other["sched"], other["plateau"]))
        pairs = list(zip(one["net"].values(), other["net"].values()))
        for i, state in one["opt"]["state"].items():
            pairs += [(state[name], other["opt"]["state"][i][name]) for name in state]
        return max(float((a - b).abs().max() / (b.abs().max() + 1e-30)) for a, b in pairs)

    def begin(self, ranks, epochs, kind="distributed", workers=0, environment=None):
        training = Training(self, epochs, kind, workers, environment=environment)
        training.slow(True)
        training.start(ranks)
        return training

    def two_extensions(self, epochs, kind="distributed"):
        training = self.begin(1, epochs, kind)
        for number in (1, 2):
            training.extend(number, 1)
            training.await_ranks(number + 1)
        return training

    def killed_where_it_says(self, kind, epochs):
        """The extension's rank ends itself in a place of train_torch.py that depends on `kind`."""
        training = self.begin(2, epochs, kind)
        training.extend(1, 1)
        training.await_ranks(3)
        open(training.path("ext1/die"), "w", encoding="ascii").close()
        training.slow(False)
        got = training.check()
        training.await_end(1, -signal.SIGKILL)
        self.assertIn("an extension was lost", training.outputs())
        return got
