# SPDX-License-Identifier: BSD-3-Clause
"""What a lost rank leaves of a step, against the drawing in step_stage.py: without torch."""
import importlib.util
import os
import unittest

# By its file: the package around it imports torch.
_PATH = os.path.join(os.path.dirname(__file__), "..", "ringrt", "torch", "step_stage.py")
_spec = importlib.util.spec_from_file_location("ringrt_step_stage", _PATH)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
Event, Stage, Step, TRANSITIONS = _module.Event, _module.Stage, _module.Step, _module.TRANSITIONS
UPDATE, LOSS, LEFT_OUT = Event.UPDATE, Event.LOSS, Event.LEFT_OUT


class StepStageTest(unittest.TestCase):
    def test_what_is_done_again(self):
        for events, stage, again in [
                ([], Stage.OPEN, False),
                ([UPDATE, UPDATE], Stage.UPDATED, False),
                ([LOSS], Stage.VOID, True),
                ([LOSS, LOSS, LEFT_OUT, LEFT_OUT], Stage.VOID, True),
                ([UPDATE, LOSS, LOSS], Stage.DONE, False),
                ([UPDATE, UPDATE, LOSS], Stage.DONE, False),
                ([UPDATE, LOSS, LEFT_OUT], Stage.TORN, True),
                ([UPDATE, LOSS, LEFT_OUT, LOSS, LEFT_OUT], Stage.TORN, True),
                ([LOSS, UPDATE], Stage.DONE, False)]:  # found by another thread as the update began
            step = Step()
            for event in events:
                step.note(event)
            self.assertEqual((step.stage, step.is_done_again), (stage, again), events)
            self.assertEqual((step.is_lost, step.updates), (LOSS in events, events.count(UPDATE)))

    def test_each_event_has_an_outcome_where_it_can_happen(self):
        # Nothing is left out before a loss.
        impossible = {(Stage.OPEN, LEFT_OUT), (Stage.UPDATED, LEFT_OUT)}
        every = {(stage, event) for stage in Stage for event in Event}
        self.assertEqual(set(TRANSITIONS), every - impossible)

    def test_a_loss_stays_until_the_next_step(self):
        for (stage, _), after in TRANSITIONS.items():
            if stage in (Stage.VOID, Stage.DONE, Stage.TORN):
                self.assertIn(after, (Stage.VOID, Stage.DONE, Stage.TORN))
        step = Step()
        for event in (UPDATE, LOSS, LEFT_OUT):
            step.note(event)
        step.begin(void=True)
        self.assertEqual((step.stage, step.updates), (Stage.VOID, 0))
        step.begin()
        self.assertEqual(step.stage, Stage.OPEN)


if __name__ == "__main__":
    unittest.main()
