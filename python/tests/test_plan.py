# SPDX-License-Identifier: BSD-3-Clause
"""Which samples make up which micro-batch: without torch."""
import importlib.util
import os
import unittest

# By its file: the package around it imports torch.
_PATH = os.path.join(os.path.dirname(__file__), "..", "ringrt", "torch", "plan.py")
_spec = importlib.util.spec_from_file_location("ringrt_plan", _PATH)
plan_module = importlib.util.module_from_spec(_spec)
import sys
sys.modules["ringrt_plan"] = plan_module
_spec.loader.exec_module(plan_module)
Plan, reference_of, seed_of = plan_module.Plan, plan_module.reference_of, plan_module.seed_of

CASES = [(1003, 4, 8, False), (1003, 4, 8, True), (7, 2, 8, False), (64, 8, 8, False), (65, 8, 8, False),
         (1, 1, 1, False), (100, 3, 4, False)]


class PlanTest(unittest.TestCase):
    def every(self, plan, ranks, first=0):
        order = list(range(plan.samples))[::-1]
        return [list(plan.from_step(order, first, rank, ranks)) for rank in range(ranks)]

    def test_each_sample_counts_once_at_every_size(self):
        for samples, batch, reference, drop in CASES:
            plan = Plan(samples, batch, reference, drop)
            for ranks in (n for n in range(1, reference + 1) if reference % n == 0):
                seen = [i for rank in self.every(plan, ranks) for micro in rank if micro.scale > 0 for i in micro.indices]
                whole = samples // plan.step_samples * plan.step_samples if drop else samples
                self.assertEqual(len(seen), whole)
                self.assertEqual(len(set(seen)), whole)

    def test_alike_every_rank_runs_as_many(self):
        for samples, batch, reference, drop in CASES:
            plan, alike = Plan(samples, batch, reference, drop), Plan(samples, batch, reference, drop, alike=True)
            for ranks in range(1, reference + 3):
                every = self.every(alike, ranks)
                most = max(len(plan.workers_of(rank, ranks)) for rank in range(ranks))
                self.assertEqual([len(rank) for rank in every], [most * plan.steps] * ranks)
                for mine, plain in zip(every, self.every(plan, ranks)):
                    def trained(some):
                        return [(m.step, m.worker, m.indices, m.scale) for m in some if m.scale > 0]
                    self.assertEqual(trained(mine), trained(plain))
                    self.assertEqual([m.last for m in mine], [i % most == most - 1 for i in range(len(mine))])
                numbers = [m.worker for rank in every for m in rank if m.step == 0]
                self.assertEqual(len(set(numbers)), len(numbers))

    def test_micro_batches_of_a_worker_are_the_same_at_every_size(self):
        for samples, batch, reference, drop in CASES:
            plan = Plan(samples, batch, reference, drop)
            at_full = {(m.step, m.worker): m.indices for rank in self.every(plan, reference) for m in rank}
            for ranks in (n for n in range(1, reference + 1) if reference % n == 0):
                here = {(m.step, m.worker): m.indices for rank in self.every(plan, ranks) for m in rank}
                self.assertEqual(here, at_full)

    def test_scales_make_the_mean_over_the_samples(self):
        for samples, batch, reference, drop in CASES:
            plan = Plan(samples, batch, reference, drop)
            for ranks in (n for n in range(1, reference + 1) if reference % n == 0):
                total = {}
                for rank in self.every(plan, ranks):
                    for m in rank:  # every sample's gradient is 1: each mean is 1
                        total[m.step] = total.get(m.step, 0) + m.scale / ranks
                for value in total.values():
                    self.assertAlmostEqual(value, 1.0, places=12)

    def test_any_number_of_ranks_shares_a_step_out(self):
        for samples, batch, reference, drop in CASES:
            plan = Plan(samples, batch, reference, drop)
            whole = plan.steps * plan.step_samples if drop else samples
            for ranks in range(1, reference + 4):
                every, total = self.every(plan, ranks), {}
                for rank in every:
                    self.assertEqual([m.step for m in rank if m.last], list(range(plan.steps)))
                    for m in rank:
                        total[m.step] = total.get(m.step, 0) + m.scale / ranks
                self.assertTrue(all(abs(value - 1) < 1e-12 for value in total.values()))
                seen = [i for rank in every for m in rank if m.scale > 0 for i in m.indices]
                self.assertEqual((len(seen), len(set(seen))), (whole, whole))

    def test_a_full_step_at_full_size_is_not_scaled(self):
        plan = Plan(64, 4, 8)
        self.assertTrue(all(m.scale == 1.0 for rank in self.every(plan, 8) for m in rank))

    def test_the_last_micro_batch_of_a_step_is_marked(self):
        plan = Plan(1003, 4, 8)
        for rank in self.every(plan, 2):
            for i, micro in enumerate(rank):
                self.assertEqual(micro.last, i % 4 == 3)

    def test_goes_on_within_the_epoch(self):
        plan = Plan(1003, 4, 8)
        whole, rest = self.every(plan, 4), self.every(plan, 4, first=9)
        self.assertEqual(rest, [[m for m in rank if m.step >= 9] for rank in whole])

    def test_every_rank_has_a_batch_in_every_micro_step(self):
        plan = Plan(7, 2, 8)  # a step of 16, and seven samples
        for rank in self.every(plan, 8):
            self.assertEqual(len(rank), 1)
            self.assertEqual(len(rank[0].indices), 1)

    def test_refuses_what_it_cannot_deal_out(self):
        with self.assertRaisesRegex(ValueError, "8 micro-batches .* 3 ranks"):
            Plan(100, 2, 8).micro_batches_a_step(3)
        with self.assertRaises(ValueError):
            Plan(0, 2, 8)

    def test_as_torchs_distributed_sampler_at_full_size(self):
        plan, order = Plan(64, 4, 4), list(range(64))
        for rank in range(4):
            mine = [i for micro in plan.from_step(order, 0, rank, 4) for i in micro.indices]
            self.assertEqual(mine, order[rank::4])

    def test_reference(self):
        for text, ranks, expected in [("1:8", 1, 8), ("1:8", 8, 8), ("2-12", 2, 8), ("3:13", 6, 12), (None, 4, 4),
                                      ("", 2, 2), ("x:y", 2, 2), ("8:1", 2, 2), ("1:8", 3, 3)]:
            self.assertEqual(reference_of(text, ranks), expected, text)

    def test_seeds_differ(self):
        self.assertEqual(len({seed_of(0, e, s, w) for e in range(10) for s in range(10) for w in range(10)}), 1000)
        self.assertTrue(0 <= seed_of(1 << 63, 5) < 1 << 63)


if __name__ == "__main__":
    unittest.main()
