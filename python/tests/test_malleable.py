# SPDX-License-Identifier: BSD-3-Clause
"""ringrt.torch.malleable() with the real torch: sizes that come and go, kills, and what comes out."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)
try:
    import torch
except ImportError as error:
    torch, why = None, f"torch cannot be imported: {error}"

TRAIN = os.path.join(support.PACKAGE, "tests", "train_torch.py")
SHORT = bool(os.environ.get("RINGRT_SHORT"))
SIZES, FIXED = ((1, 2), 1) if SHORT else ((1, 4, 2, 1), 4)
BACKEND = os.environ.get("RINGRT_TEST_BACKEND", "gloo")  # with RINGRT_TEST_DEVICE=cuda also nccl
EPOCHS, SAMPLES, STEPS = 3, 203, 13  # of an epoch: 203 samples in steps of 16


@unittest.skipIf(torch is None, "" if torch else why)
class MalleableTest(unittest.TestCase):
    def job(self, kind, pause_s, workers=0, backend=BACKEND):
        job = support.Job(TRAIN, kind, pause_s, workers, environment={"BACKEND": backend})
        self.addCleanup(job.close)
        return job

    def result(self, job):
        return torch.load(job.path("result"), map_location="cpu")

    def seen(self, job):
        """(epoch, step): the samples that were trained with, of all runs."""
        out = {}
        for name in os.listdir(job.directory):
            if name.startswith("seen."):
                for line in job.text(name).splitlines():
                    epoch, step, *samples = map(int, line.split())
                    out.setdefault((epoch, step), []).extend(samples)
        return out

    def check_samples(self, job):
        seen = self.seen(job)
        self.assertEqual(sorted(step for _, step in seen), list(range(EPOCHS * STEPS)))
        for epoch in range(EPOCHS):
            samples = sorted(i for (e, _), some in seen.items() if e == epoch for i in some)
            self.assertEqual(samples, list(range(SAMPLES)), f"epoch {epoch}: not each sample once")

    results = {}  # of undisturbed runs, for all tests: imports are what takes the time here

    def undisturbed(self, kind, size):
        if (kind, size) not in self.results:
            job = self.job(kind, 0)
            job.start(size)
            job.wait()
            self.check_samples(job)
            self.results[kind, size] = self.result(job)
        return self.results[kind, size]

    def resized(self, kind, sizes, backend=BACKEND):
        job = self.job(kind, 0.01, backend=backend)
        for size in sizes[:-1]:
            job.start(size)
            names = [f"seen.{job.restart}.{rank}" for rank in range(size)]
            job.wait_for("steps", lambda: all(job.text(name).count("\n") >= 3 for name in names))
            job.ask(size - 1)
            job.wait()
        job.start(sizes[-1])
        job.wait()
        self.check_samples(job)
        return self.result(job)

    def difference(self, one, other):
        self.assertEqual(one["steps"], other["steps"])
        self.assertEqual(one["sched"], other["sched"])
        self.assertEqual(one["plateau"], other["plateau"])
        pairs = list(zip(one["net"].values(), other["net"].values()))
        for i, state in one["opt"]["state"].items():
            pairs += [(state[name], other["opt"]["state"][i][name]) for name in state]
        return max(float((a - b).abs().max() / (b.abs().max() + 1e-30)) for a, b in pairs)

    def test_every_size_comes_to_the_same_weights(self):
        at_full = self.undisturbed("distributed", 4)
        for size in (1, 2):
            self.assertLess(self.difference(self.undisturbed("distributed", size), at_full), 1e-9)

    def test_resizes_lose_no_step_and_no_sample(self):
        got = self.resized("distributed", (1, 4, 2, 1))
        self.assertLess(self.difference(got, self.undisturbed("distributed", 4)), 1e-9)

    def bits(self, result):
        """Of the weights, the buffers and the optimizer's state."""
        out = {name: one.numpy().tobytes() for name, one in result["net"].items()}
        for i, state in result["opt"]["state"].items():
            out.update({f"{name} of {i}": state[name].numpy().tobytes() for name in state})
        return out

    def test_same_bits_at_every_size_and_through_resizes(self):
        undisturbed = self.undisturbed("bits", 1)
        self.assertNotIn(1, undisturbed["opt"]["state"], "a parameter that no micro-batch used has a gradient")
        fixed = self.bits(undisturbed)
        self.assertEqual(self.bits(self.resized("bits", SIZES)), fixed)
        for size in () if SHORT else (2, 4):
            self.assertEqual(self.bits(self.undisturbed("bits", size)), fixed, f"{size} ranks")

    def test_a_sampler_that_knows_no_ranks_is_shared_out_and_ringrt_moves_the_gradients(self):
        got = self.resized("shuffled", (2, 4), backend="gloo" if support.torch_lacks_backends() else "cpu:ringrt")
        self.assertLess(self.difference(got, self.undisturbed("shuffled", 1)), 1e-9)

    def test_fsdp2_is_cut_anew_for_every_size(self):
        got = self.resized("sharded", SIZES)
        self.assertLess(self.difference(got, self.undisturbed("distributed", FIXED)), 1e-9)

    def test_a_broken_save_of_fsdp2_leaves_the_checkpoint_before(self):
        job = self.job("sharded", 0.01)
        job.start(1)
        job.wait_for("steps", lambda: job.text("seen.0.0").count("\n") >= 12)  # 3 steps of 4 micro-batches
        job.ask()
        job.wait()  # a checkpoint
        with open(job.path("break"), "w", encoding="ascii"):
            pass
        job.start(2)
        job.wait_for("steps", lambda: job.text("seen.1.1").count("\n") >= 4)
        job.ask()
        job.wait_for("line", lambda: "resize called off" in job.outputs())
        self.assertRegex(job.outputs(), "the program could not save: OSError: rank 1: OSError: the disk is full: resize called off")
        job.kill()
        os.remove(job.path("break"))
        job.start(2)  # from the first
        job.wait()
        self.assertEqual(job.text("calls").count("requeue"), 1)
        self.assertLess(self.difference(self.result(job), self.undisturbed("distributed", 4)), 1e-9)

    def test_buckets_are_planned_while_it_trains_and_after_a_resize(self):
        job = self.job("planned", 0.01)
        job.start(2)
        job.wait_for("plan", lambda: job.text("reformed").count("\n") == 2)
        job.ask()
        job.wait()
        job.start(4)
        job.wait()
        self.check_samples(job)
        self.assertEqual(len(job.text("reformed").split()), 6)
        self.assertLess(self.difference(self.result(job), self.undisturbed("distributed", 4)), 1e-9)

    def test_ddp_follows_planned_buckets(self):
        job = support.Job(os.path.join(support.PACKAGE, "tests", "grouping_checks.py"))
        self.addCleanup(job.close)
        job.start(2)
        job.wait()

    def alone(self, data, model, **options):
        """malleable() in this process."""
        from ringrt.torch import malleable
        directory = tempfile.TemporaryDirectory(prefix="ringrt-python-")
        self.addCleanup(directory.cleanup)
        return malleable(torch.utils.data.DataLoader(data, 1), model=model, opt=[],
                         options={"checkpoint_dir": directory.name}, **options)

    def test_a_tree_is_the_same_at_every_number_of_ranks(self):
        from ringrt.torch.bits import TreeSum, sum_of_rows
        for workers, sizes in ((8, (1, 2, 4, 8)), (12, (3, 6, 12))):
            leaves, sums = torch.randn(workers, 1000), []
            for size in sizes:
                ranks = []
                for mine in leaves.chunk(size):
                    tree = TreeSum()
                    for leaf in mine.clone():
                        tree.add([leaf])
                    ranks += tree.take()
                sums.append(sum_of_rows(ranks))
            self.assertTrue(all(torch.equal(one, sums[0]) for one in sums), sizes)

    def test_a_step_that_is_left_out_stays_out_below_a_scheduler(self):
        from types import SimpleNamespace

        from ringrt.torch.accumulate import step_at_end

        for scheduled in (False, True):  # a scheduler replaces step() of the object
            weight = torch.nn.Parameter(torch.ones(1))
            opt = torch.optim.SGD([weight], lr=0.5)
            sched = torch.optim.lr_scheduler.StepLR(opt, 1, 1.0) if scheduled else None
            position = SimpleNamespace(completes=False)
            step_at_end(opt, position)
            for completes, expected in ((False, 1.0), (True, 0.5), (False, 0.5)):
                position.completes = completes
                weight.grad = torch.ones(1)
                opt.step()
                self.assertEqual(weight.item(), expected)
            if sched is not None:
                sched.step()

    def test_same_bits_refuses_what_it_cannot_add(self):
        dist = torch.distributed
        from torch.distributed.fsdp import fully_shard
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        self.addCleanup(dist.destroy_process_group)
        linear = torch.nn.Linear(1, 1)
        for model, reference, line in [(fully_shard(torch.nn.Linear(1, 1)), 2, "it cannot be combined with fully_shard"),
                                       (torch.nn.SyncBatchNorm(3), 2, "SyncBatchNorm"),
                                       (linear, 6, "6 micro-batches of a step, not a power of two")]:
            with self.assertRaisesRegex(ValueError, line):
                self.alone([1.0], model, reference=reference, same_bits=True)
        words = torch.nn.Embedding(4, 1, sparse=True)
        for model, backward, line in [
                (linear, lambda x: [linear(x[:, None].float()).sum().backward() for _ in range(2)], "a second backward"),
                (linear, lambda x: None, "had no backward"), (words, lambda x: words(x).sum().backward(), "is sparse")]:
            run = self.alone([1, 2], model, reference=2, same_bits=True)
            with self.assertRaisesRegex(RuntimeError, line):
                for _ in run.epochs(1):
                    for x in run._loader:
                        backward(x)
            run.finish()

    def test_other_meshes_are_refused_by_one_line(self):
        dist = torch.distributed
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        self.addCleanup(dist.destroy_process_group)

        def layers():
            return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))

        hybrid = fully_shard(layers(), mesh=init_device_mesh("cpu", (1, 1), mesh_dim_names=("replicas", "shards")))
        partly = layers()
        fully_shard(partly[0])
        parallel = parallelize_module(layers(), init_device_mesh("cpu", (1,)), {"0": ColwiseParallel()})
        for model, line in [(hybrid, "the mesh of 0.weight is 1 x 1, there are 1 ranks: "),
                            (partly, "1.weight is in no module that fully_shard"), (parallel, "tensor parallelism")]:
            with self.assertRaisesRegex(ValueError, line):
                self.alone([1.0], model)

    def test_killed_and_resumed_at_the_same_size_it_has_the_same_bits(self):
        job = self.job("distributed", 0.01, 1)
        job.start(2)
        job.wait_for("steps", lambda: job.text("seen.0.0").count("\n") >= 4)
        job.ask()
        job.wait()  # a checkpoint
        job.start(2)
        job.wait_for("more steps", lambda: job.text("seen.1.0").count("\n") >= 3)
        job.kill()  # and what came after it is done again
        job.start(2)
        job.wait()
        self.assertEqual(self.difference(self.result(job), self.undisturbed("distributed", 2)), 0.0)


if __name__ == "__main__":
    if torch is None:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
