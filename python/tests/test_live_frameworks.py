# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified scripts of the Hugging Face Trainer resized in place, with the package as pip installs it
(RINGRT_INSTALLED): extensions join a training, leave it, and are killed."""
import importlib.util
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
import test_live  # noqa: E402
from test_live import torch  # noqa: E402

INSTALLED = os.environ["RINGRT_INSTALLED"]
STEPS = {1: 13, 2: 7}  # of an epoch: 203 samples in steps of 16, or of 32
SCRIPT = os.path.join(support.PACKAGE, "tests", "train_hf.py")


def has(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


class Trainings:
    def begin(self, ranks, epochs, workers=0, every=1, tokens=0, counts=0):
        command = (SCRIPT, 0.005, workers, epochs, every, tokens, counts)
        training = test_live.Training(self, epochs, steps=STEPS[every], command=command, package=INSTALLED)
        training.slow(True)
        training.start(ranks)
        return training

    def compare(self, training, epochs, every=1, counts=0, saved=False):
        """With one rank undisturbed."""
        got = training.check()
        self.assertNotIn("not malleable", training.outputs())
        self.assertEqual("requeue" in training.text("calls"), saved)
        alone = support.Job(SCRIPT, 0, 0, epochs, every, 0, counts, package=INSTALLED)
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


@unittest.skipUnless(has("transformers", "accelerate"), "no transformers and accelerate")
class DeclinedTest(Trainings, unittest.TestCase):
    def test_what_cannot_be_resized_in_place_says_so(self):
        lacks = support.torch_lacks_backends()
        for tokens, why in [(1, "TrainingArguments has include_num_input_tokens_seen")] + ([(0, lacks)] if lacks else []):
            training = self.begin(1, 1, tokens=tokens)
            training.slow(False)
            training.extend(1, 1)
            training.await_end(1, 1)
            training.check()
            self.assertIn(f"not resized in place, but by requeue: {why}", training.text("out.0.0"))
            self.assertIn(f"this training cannot be an extension: {why}", training.text("out.ext1.0"))


@unittest.skipUnless(has("transformers", "accelerate"), "no transformers and accelerate")
@unittest.skipIf(support.torch_lacks_backends(), support.torch_lacks_backends())
class TransformersLiveTest(Trainings, unittest.TestCase):
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
        training = self.begin(2, 10, counts=1)
        for number in (1, 2):
            training.slow(True)
            training.extend(number, 1)
            training.await_ranks(3, number)
            training.slow(False)
            training.extensions[number][0].kill()
            training.wait_for("loss", lambda number=number: training.outputs().count("an extension was lost") == number)
        self.compare(training, 10, counts=1)

    def test_lost_in_a_validation_it_is_done_again(self):
        training = self.begin(2, 4)
        training.extend(1, 1)
        training.await_ranks(3)
        open(training.path("ext1/die"), "w", encoding="ascii").close()
        training.slow(False)
        self.compare(training, 4)
        training.await_end(1, -signal.SIGKILL)
        self.assertIn("an extension was lost", training.outputs())

    def test_who_is_above_an_extension_that_leaves_joins_again(self):
        training = self.begin(1, 12)
        for number in (1, 2):
            training.extend(number, 1)
            training.await_ranks(number + 1)
        training.leave(1)
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


@unittest.skipUnless(has("lightning"), "no lightning")
class LightningTest(unittest.TestCase):
    def test_it_is_resized_by_requeue(self):
        script = os.path.join(support.PACKAGE, "tests", "train_lightning.py")
        training = test_live.Training(self, 3, command=(script, 0.005, 1, 0), package=INSTALLED)
        training.start(1)
        training.extend(1, 1)
        training.await_end(1, 1)
        training.check()
        for name, line in (("out.0.0", "not resized in place, but by requeue: Lightning"),
                           ("out.ext1.0", "this training cannot be an extension: Lightning")):
            self.assertIn(line, training.text(name))


if __name__ == "__main__":
    unittest.main()
