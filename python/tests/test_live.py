# SPDX-License-Identifier: BSD-3-Clause
"""ringrt.torch.malleable() resized in place, with the real torch: extensions join a training, leave it, and are killed."""
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)
from live_support import LOST_AT, STEPS, TRAIN, LiveCase, Training, torch, why  # noqa: E402


@unittest.skipIf(why, why)
class LiveTest(LiveCase):
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

    def test_lost_in_what_follows_an_epoch_it_is_done_again(self):
        got = self.killed_where_it_says("validated", 4)
        self.assertLess(self.difference(got, 4), 1e-9)

    def test_lost_in_the_last_ballot_as_one_rank_sees_it(self):
        """The other one of the base has passed it."""
        training = Training(self, 4, command=(LOST_AT, TRAIN, "distributed", 0.005, 0, 4))
        with open(training.path("lost_at"), "w", encoding="ascii") as file:
            print(-4 * STEPS, 1, file=file)
        training.slow(True)
        training.start(2)
        training.extend(1, 1)
        training.await_ranks(3)
        training.slow(False)
        got = training.check()
        training.await_end(1, -signal.SIGKILL)
        self.assertIn("an extension was lost", training.outputs())
        self.assertLess(self.difference(got, 4), 1e-9)

    def test_lost_between_two_updates_of_a_step_both_are_done_again(self):
        got = self.killed_where_it_says("two", 6)
        self.assertLess(self.difference(got, 6, "two"), 1e-9)


@unittest.skipIf(torch is None, why)
class DeclinedTest(unittest.TestCase):
    def test_what_cannot_be_resized_in_place_says_so(self):
        declined = {kind: f"{what} cannot be resized in place" for kind, what in
                    (("bits", "same_bits"), ("planned", "plan_buckets"))}
        declined["by_columns"] = "a parameter is divided along dimension 1"
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
