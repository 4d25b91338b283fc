# SPDX-License-Identifier: BSD-3-Clause
"""ringrt.torch.malleable() resized in place, with the real torch: extensions join a training, leave it, and are killed."""
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)
try:
    import torch
except ImportError as error:
    torch, why = None, f"torch cannot be imported: {error}"
else:
    why = support.torch_lacks_backends()

TRAIN = os.path.join(support.PACKAGE, "tests", "train_torch.py")
SAMPLES, STEPS = 203, 13  # of an epoch: 203 samples in steps of 16


class Training(support.Job):
    """A base job, and extensions of it by number. While it is slow a step takes a second and more."""

    def __init__(self, test, epochs, kind="distributed", workers=0, steps=STEPS, command=None, package=support.PACKAGE):
        super().__init__(*(command or (TRAIN, kind, 0.005, workers, epochs)), package=package,
                         environment={"RINGRT_LIVE_RESIZE": "1"})
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


@unittest.skipIf(why, why)
class LiveTest(unittest.TestCase):
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

    def begin(self, ranks, epochs, kind="distributed", workers=0):
        training = Training(self, epochs, kind, workers)
        training.slow(True)
        training.start(ranks)
        return training

    def test_an_extension_joins_and_leaves(self):
        # Slow, they take three minutes: an extension comes in time on a busy machine, too.
        training = self.begin(1, 12)
        training.extend(1, 2)
        training.await_ranks(3)  # which do not divide the 4 micro-batches of a step
        training.leave(1)
        training.await_ranks(1)
        training.slow(False)
        self.assertLess(self.difference(training.check(), 12), 1e-9)

    def test_an_extension_trains_on_to_the_end_over_epochs(self):
        training = self.begin(2, 6, workers=1)
        training.extend(1, 2)
        training.await_ranks(4)
        training.slow(False)
        got = training.check()
        training.await_end(1)
        self.assertFalse(os.path.exists(training.path("ext1/result")), "an extension did what the base does at the end")
        self.assertLess(self.difference(got, 6), 1e-9)

    def test_killed_extensions_cost_no_step(self):
        training = self.begin(2, 20)
        for number in (1, 2):
            training.slow(True)
            training.extend(number, 1)
            training.await_ranks(3, number)
            training.slow(False)
            training.extensions[number][0].kill()
            training.wait_for("loss", lambda number=number: training.outputs().count("an extension was lost") == number)
        self.assertLess(self.difference(training.check(), 20), 1e-9)

    def two_extensions(self, epochs, kind="distributed"):
        training = self.begin(1, epochs, kind)
        for number in (1, 2):
            training.extend(number, 1)
            training.await_ranks(number + 1)
        return training

    def test_who_is_above_an_extension_that_leaves_joins_again(self):
        training = self.two_extensions(12)
        training.leave(1)
        training.await_ranks(2, 2)
        training.slow(False)
        got = training.check()
        training.await_end(2)
        self.assertLess(self.difference(got, 12), 1e-9)

    def test_who_is_above_an_extension_that_is_killed_joins_again_epochs_later(self):
        training = self.two_extensions(60)
        training.slow(False)  # the base does many epochs until a rank has joined
        training.extensions[1][0].kill()
        training.await_ranks(2, 2)
        got = training.check()
        training.await_end(2)
        self.assertLess(self.difference(got, 60), 1e-9)

    def test_who_is_above_an_extension_that_is_lost_after_an_epoch_joins_again(self):
        training = self.two_extensions(12, "validated")
        open(training.path("ext1/die"), "w", encoding="ascii").close()
        training.await_ranks(2, 2)
        training.slow(False)
        got = training.check()
        training.await_end(2)
        self.assertLess(self.difference(got, 12), 1e-9)

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

    def test_lost_in_what_follows_an_epoch_it_is_done_again(self):
        got = self.killed_where_it_says("validated", 4)
        self.assertLess(self.difference(got, 4), 1e-9)

    def test_lost_between_two_updates_of_a_step_both_are_done_again(self):
        got = self.killed_where_it_says("two", 6)
        self.assertLess(self.difference(got, 6, "two"), 1e-9)


@unittest.skipIf(torch is None, why)
class DeclinedTest(unittest.TestCase):
    def test_what_cannot_be_resized_in_place_says_so(self):
        declined = {kind: f"{what} cannot be resized in place" for kind, what in
                    (("bits", "same_bits"), ("sharded", "fully_shard()"))}
        if why:
            declined["distributed"] = why
        for kind, line in declined.items():
            training = Training(self, 1, kind)
            training.start(1)
            training.extend(1, 1)
            training.await_end(1, 1)
            training.check()
            self.assertIn(f"not resized in place, but by requeue: {line}", training.text("out.0.0"))
            self.assertIn(f"ValueError: this training cannot be an extension: {line}", training.text("out.ext1.0"))


if __name__ == "__main__":
    if torch is None:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
