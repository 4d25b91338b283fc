# SPDX-License-Identifier: BSD-3-Clause
"""How parts of tensors go from n ranks to m: all numbers of ranks, rows that do not divide, tensors without a row."""
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)
try:
    import torch
except ImportError as error:
    print(f"skipped: torch cannot be imported: {error}")
    sys.exit(77)
from ringrt.torch import dcp, spread  # noqa: E402


class SpreadTest(unittest.TestCase):
    def setUp(self):
        generator = torch.Generator().manual_seed(1)
        self.whole = {"a": torch.randn(24, 16, generator=generator, dtype=torch.float64),
                      "b": torch.randn(1, 7, generator=generator), "empty": torch.empty(0, 3),
                      "flags": torch.randn(13, generator=generator) > 0, "bias": torch.randn(5, generator=generator)}
        self.shapes = [spread.shape_of(name, one.shape, one.dtype) for name, one in self.whole.items()]
        self.chunk, spread.CHUNK = spread.CHUNK, 100  # bytes: it ends within rows

    def tearDown(self):
        spread.CHUNK = self.chunk

    def part(self, rank, ranks, zero=False):
        """As torch divides a DTensor, which spread must know without it."""
        out = {}
        for name, one in self.whole.items():
            chunks = torch.chunk(one, ranks) if one.numel() else ()
            part = chunks[rank] if rank < len(chunks) else one[:0]
            out[name] = torch.zeros_like(part) if zero else part.clone()
        return out

    def holding(self, rank, ranks, tensors):
        return spread.Holding(spread.stream_of(self.shapes, rank, ranks), tensors)

    def check(self, rank, ranks, got):
        for name, part in self.part(rank, ranks).items():
            self.assertTrue(torch.equal(got[name], part), f"{name} at rank {rank} of {ranks}")

    def test_gathered_by_some(self):
        for ranks in range(1, 8):
            streams = [spread.stream_of(self.shapes, rank, ranks) for rank in range(ranks)]
            have = [self.holding(rank, ranks, self.part(rank, ranks)) for rank in range(ranks)]
            for some in range(1, ranks + 1):
                for rank in range(some):
                    into, low = self.part(rank, some, zero=True), 0

                    def all_gather(_mine, every):
                        nonlocal low
                        for one, row in zip(have, every):
                            one.put(low, low + row.numel(), row)
                        low += every.shape[1]

                    spread.gather(all_gather, streams, have[rank], self.holding(rank, some, into))
                    self.check(rank, some, into)

    def test_scattered_to_more(self):
        for some in range(1, 6):
            streams = [spread.stream_of(self.shapes, rank, some) for rank in range(some)]
            have = [self.holding(rank, some, self.part(rank, some)) for rank in range(some)]
            for ranks in range(some, 8):
                for rank in range(ranks):
                    into, sent = self.part(rank, ranks, zero=True), {}

                    def broadcast(chunk, root):
                        low = sent.get(root, 0)
                        have[root].put(low, low + chunk.numel(), chunk)
                        sent[root] = low + chunk.numel()

                    spread.scatter(broadcast, streams, rank, have[rank] if rank < some else None,
                                   self.holding(rank, ranks, into))
                    self.check(rank, ranks, into)

    def test_a_part_of_another_size_is_refused(self):
        with self.assertRaisesRegex(ValueError, "bytes of a, not"):
            self.holding(0, 2, self.part(0, 3))


class AllComeTest(unittest.TestCase):
    def answers(self, ranks, coming, wait_s):
        store, out = torch.distributed.HashStore(), []
        threads = [threading.Thread(target=lambda: out.append(dcp.all_come(store, "save", ranks, wait_s)))
                   for _ in range(coming)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return out, store

    def test_all_or_none(self):
        self.assertEqual(self.answers(4, 4, 60)[0], [True] * 4)
        out, store = self.answers(4, 3, 0.05)
        self.assertEqual(out, [False] * 3)
        self.assertFalse(dcp.all_come(store, "save", 4, 60), "who comes late must not save alone")


if __name__ == "__main__":
    unittest.main()
