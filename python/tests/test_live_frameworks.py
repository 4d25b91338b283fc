# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified scripts of Lightning and of the Hugging Face Trainer resized in place, with the package as pip installs
it (RINGRT_INSTALLED): extensions join a training, leave it, and are killed."""
import importlib.util
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import live_support  # noqa: E402
import support  # noqa: E402
from live_support import torch  # noqa: E402

INSTALLED = os.environ["RINGRT_INSTALLED"]
STEPS = {1: 13, 2: 7}  # of an epoch: 203 samples in steps of 16, or of 32
TESTS = os.path.join(support.PACKAGE, "tests")


def has(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


class Transformers:
    installed, killed_with = has("transformers", "accelerate"), "counts"
    missed = [("training", 2, 0), ("evaluating", 1, 1)]
    declined = {"tokens": "TrainingArguments has include_num_input_tokens_seen"}

    def command(self, pause_s, workers, epochs, every, special):
        return (os.path.join(TESTS, "train_hf.py"), pause_s, workers, epochs, every, int(special == "tokens"),
                int(special == "counts"))


class Lightning:
    installed, killed_with = has("lightning"), "callbacks"
    missed = [("training", 2, 0), ("evaluating", 1, 1), ("evaluating", 4, 0)]
    declined = {"reload": "the Trainer has reload_dataloaders_every_n_epochs"}

    def command(self, pause_s, workers, epochs, every, special):
        return os.path.join(TESTS, "train_lightning.py"), pause_s, 4, workers, epochs, every, special


class Trainings:
    def begin(self, ranks, epochs, workers=0, every=1, special="", missed=()):
        command = self.command(0.005, workers, epochs, every, special)
        if missed:
            command = os.path.join(TESTS, "missing.py"), *missed, *command
        training = live_support.Training(self, epochs, steps=STEPS[every], command=command, package=INSTALLED)
        training.slow(True)
        training.start(ranks)
        return training

    def compare(self, training, epochs, every=1, special="", saved=False):
        """With one rank undisturbed."""
        got = training.check()
        self.assertNotIn("not malleable", training.outputs())
        self.assertEqual("requeue" in training.text("calls"), saved)
        alone = support.Job(*self.command(0, 0, epochs, every, special), package=INSTALLED)
        self.addCleanup(alone.close)
        alone.start(1)
        alone.wait()
        other = torch.load(alone.path("result"), weights_only=False)
        for name in ("steps", "sched", "validated", "epochs"):
            self.assertEqual(got[name], other[name], name)
        self.assertEqual(got["steps"], epochs * STEPS[every])
        pairs = list(zip(got["net"].values(), other["net"].values()))
        for i, state in got["opt"]["state"].items():
            pairs += [(state[name], other["opt"]["state"][i][name]) for name in state]
        worst = max(float((a - b).abs().max() / (b.abs().max() + 1e-30)) for a, b in pairs)
        print(f"measured: {self.id().split('.')[-1]}: at most {worst:.1e} from one rank undisturbed", file=sys.stderr)
        self.assertLess(worst, 1e-9)
        return got, other


class Declined(Trainings):
    def test_what_cannot_be_resized_in_place_says_so(self):
        lacks = support.torch_lacks_backends()
        for special, why in [*self.declined.items()] + ([("", lacks)] if lacks else []):
            training = self.begin(1, 1, special=special)
            training.slow(False)
            training.extend(1, 1)
            training.await_end(1, 1)
            training.check()
            self.assertIn(f"not resized in place, but by requeue: {why}", training.text("out.0.0"))
            self.assertIn(f"this training cannot be an extension: {why}", training.text("out.ext1.0"))


class Scenarios(Trainings):
    def test_an_extension_joins_and_leaves(self):
        training = self.begin(1, 6)
        training.extend(1, 1)
        training.await_ranks(2)
        training.leave(1)
        training.await_ranks(1)
        training.slow(False)
        self.compare(training, 6)

    def test_extensions_train_on_to_the_end_over_epochs(self):
        training = self.begin(1, 3, workers=1, every=2)
        training.extend(1, 2)
        training.await_ranks(3)  # which do not divide the 4 micro-batches of a batch
        training.slow(False)
        self.compare(training, 3, every=2)
        training.await_end(1)
        self.assertFalse(os.path.exists(training.path("ext1/result")), "an extension did what the base does at the end")

    def test_killed_extensions_cost_no_step(self):
        training = self.begin(2, 10, special=self.killed_with)
        for number in (1, 2):
            training.slow(True)
            training.extend(number, 1)
            training.await_ranks(3, number)
            training.slow(False)
            training.extensions[number][0].kill()
            training.wait_for("loss", lambda number=number: training.outputs().count("an extension was lost") == number)
        self.compare(training, 10, special=self.killed_with)

    def test_lost_in_a_validation_it_is_done_again(self):
        training = self.begin(2, 4)
        training.extend(1, 1)
        training.await_ranks(3)
        open(training.path("ext1/die"), "w", encoding="ascii").close()
        training.slow(False)
        got, other = self.compare(training, 4)
        self.assertEqual(got.get("counts"), other.get("counts"), "a validation was not of all samples")
        training.await_end(1, -signal.SIGKILL)
        self.assertIn("an extension was lost", training.outputs())

    def test_a_rank_that_missed_a_collective_takes_over_the_others_state(self):
        for missed in self.missed:
            training = self.begin(2, 3, missed=missed)
            training.extend(1, 1)
            training.await_ranks(3)
            training.slow(False)
            got, other = self.compare(training, 3)
            self.assertEqual(got.get("counts"), other.get("counts"), "a validation was not of all samples")
            training.await_end(1, -signal.SIGKILL)
            self.assertEqual(training.outputs().count("an extension was lost"), 1)

    def test_who_is_above_an_extension_that_leaves_joins_again(self):
        training = self.begin(1, 12)
        for number in (1, 2):
            training.extend(number, 1)
            training.await_ranks(number + 1)
        training.leave(1, signal.SIGTERM)  # as scancel sends it
        training.await_ranks(2, 2)
        training.slow(False)
        self.compare(training, 12)
        training.await_end(2)

    def test_a_requeue_lets_the_extension_leave_first(self):
        training = self.begin(1, 4)
        training.extend(1, 1)
        training.await_ranks(2)
        training.ask()
        training.wait()
        for one in training.extensions[1]:
            self.assertIn(one.wait(support.FAILED_FOR), (0, -signal.SIGTERM))  # the base's end may end it
        training.slow(False)
        training.start(2)
        self.compare(training, 4, saved=True)


@unittest.skipUnless(Transformers.installed, "no transformers and accelerate")
class TransformersDeclinedTest(Transformers, Declined, unittest.TestCase):
    pass


@unittest.skipUnless(Transformers.installed, "no transformers and accelerate")
@unittest.skipIf(support.torch_lacks_backends(), support.torch_lacks_backends())
class TransformersLiveTest(Transformers, Scenarios, unittest.TestCase):
    pass


@unittest.skipUnless(Lightning.installed, "no lightning")
class LightningDeclinedTest(Lightning, Declined, unittest.TestCase):
    pass


@unittest.skipUnless(Lightning.installed, "no lightning")
@unittest.skipIf(support.torch_lacks_backends(), support.torch_lacks_backends())
class LightningLiveTest(Lightning, Scenarios, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
