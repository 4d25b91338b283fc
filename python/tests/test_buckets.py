# SPDX-License-Identifier: BSD-3-Clause
"""Buckets planned for DDP: without torch."""
import importlib.util
import itertools
import os
import random
import sys
import unittest

# By its file: the package around it imports torch.
_PATH = os.path.join(os.path.dirname(__file__), "..", "ringrt", "torch", "buckets.py")
_spec = importlib.util.spec_from_file_location("ringrt_buckets", _PATH)
buckets = importlib.util.module_from_spec(_spec)
sys.modules["ringrt_buckets"] = buckets
_spec.loader.exec_module(buckets)
Gradient, Link = buckets.Gradient, buckets.Link


def every_grouping(gradients):
    """All ways to cut the ready order into buckets."""
    for cuts in itertools.product((False, True), repeat=len(gradients) - 1):
        sizes = [gradients[0].size]
        for cut, gradient in zip(cuts, gradients[1:]):
            if cut:
                sizes.append(gradient.size)
            else:
                sizes[-1] += gradient.size
        yield sizes


class BucketsTest(unittest.TestCase):
    def test_no_other_grouping_ends_earlier(self):
        draw = random.Random(4)
        for _ in range(400):
            count, same = draw.randint(1, 9), draw.random() < 0.2
            gradients = buckets.in_ready_order(
                [Gradient(draw.choice([1, 8, 100, 5000]), 0.0 if same else draw.choice([0, 1, 2, 30, 30, 77]) + draw.random())
                 for _ in range(count)])
            link = Link(draw.choice([0.0, 0.1, 3.0, 50.0]), draw.choice([0.0, 1e-4, 0.01, 1.0]))
            sizes = buckets.best_sizes(gradients, link)
            least = min(buckets.last_end(gradients, one, link) for one in every_grouping(gradients))
            self.assertEqual(sum(sizes), sum(gradient.size for gradient in gradients))
            self.assertAlmostEqual(buckets.last_end(gradients, sizes, link), least, places=9)
            limit = buckets.best_limit(gradients, link)
            self.assertGreaterEqual(buckets.last_end(gradients, buckets.sizes_under(gradients, [limit]), link) + 1e-9, least)

    def test_ddp_given_the_sizes_as_limits_makes_these_buckets(self):
        draw = random.Random(5)
        for _ in range(100):
            gradients = [Gradient(draw.randint(1, 1000), float(i)) for i in range(30)]
            sizes = buckets.best_sizes(gradients, Link(2.0, 0.003))
            self.assertEqual(buckets.sizes_under(gradients, sizes), sizes)

    def test_the_last_limit_is_that_of_all_that_follow(self):
        gradients = [Gradient(10, float(i)) for i in range(9)]
        self.assertEqual(buckets.sizes_under(gradients, [10, 25]), [10, 30, 30, 20])

    def test_many_gradients_are_planned_as_few_are(self):
        gradients = [Gradient(1000, 0.001 * i) for i in range(20000)]
        link = Link(0.02, 1e-7)
        sizes = buckets.best_sizes(gradients, link)
        self.assertEqual(sum(sizes), 20_000_000)
        self.assertLessEqual(buckets.last_end(gradients, sizes, link),
                             buckets.last_end(gradients, buckets.sizes_under(gradients, [1 << 20, 25 << 20]), link))

    def test_a_link_is_found_in_what_was_measured(self):
        link = buckets.fit_link([(size, 2e-4 + size * 3e-9) for size in (4096, 65536, 1 << 20, 1 << 24)])
        self.assertAlmostEqual(link.start_s, 2e-4, places=9)
        self.assertAlmostEqual(link.byte_s, 3e-9, places=15)
        self.assertEqual(buckets.fit_link([(1, 2.0), (2, 1.0)]).byte_s, 0.0)


if __name__ == "__main__":
    unittest.main()
