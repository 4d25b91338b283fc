# SPDX-License-Identifier: BSD-3-Clause
"""One rank of test_backend.py: the backend "ringrt" compared with Gloo, in the same processes."""
import os
import shutil
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import ringrt
import ringrt.torch  # noqa: F401

INTS = [torch.uint8, torch.int8, torch.int32, torch.int64]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
COUNTS = [0, 1, 3, 1003, 100003]  # the last is more than a chunk of shared memory in float64
OPS = {"SUM": dist.ReduceOp.SUM, "MIN": dist.ReduceOp.MIN, "MAX": dist.ReduceOp.MAX, "PRODUCT": dist.ReduceOp.PRODUCT}


def numbers(count, dtype, rank):
    """Small whole numbers, 0 to 4: exact in every type, whatever the order of adding."""
    return ((torch.arange(count) * 7 + 3 * rank) % 5).to(dtype)


class Checks:
    def __init__(self):
        dist.init_process_group("gloo")
        self.ring = dist.new_group(backend="ringrt")
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def mine(self, dtype=torch.float32, count=5):
        return numbers(count, dtype, self.rank)

    def same(self, one, other, what):
        assert one.dtype == other.dtype and torch.equal(one, other), f"{what}: {one} is not {other}"

    def both(self, call, make, what):
        """call(tensor, group) on a tensor of each backend's."""
        one, other = make(), make()
        call(one, self.ring)
        call(other, None)
        self.same(one, other, what)

    # ---- against Gloo --------------------------------------------------------------------------

    def check_all_reduce_of_every_type_operation_and_size(self):
        for dtype in INTS + FLOATS:
            for count in COUNTS:
                for name, op in OPS.items():
                    self.both(lambda tensor, group: dist.all_reduce(tensor, op, group=group),
                              lambda: self.mine(dtype, count), f"{name} of {count} {dtype}")

    def check_what_gloo_does_not_have(self):
        mean = self.mine(count=1003)
        dist.all_reduce(mean, dist.ReduceOp.AVG, group=self.ring)
        total = self.mine(count=1003)
        dist.all_reduce(total)
        torch.testing.assert_close(mean, total / self.size)
        for op, expected in (("SUM", [True, self.size > 1, False]), ("MIN", [True, False, False])):
            flags = torch.tensor([True, self.rank == 1, False])
            dist.all_reduce(flags, getattr(dist.ReduceOp, op), group=self.ring)
            assert flags.tolist() == expected, (op, flags)
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            short = self.mine(count=1003).to(dtype)
            dist.all_reduce(short, group=self.ring)
            self.same(short.float(), total.to(dtype).float(), str(dtype))
        for dtype in (torch.uint8, torch.int8):  # no mean of a sum that has wrapped around
            byte = torch.full([5], 100, dtype=dtype)
            dist.all_reduce(byte, dist.ReduceOp.AVG, group=self.ring)
            assert byte.tolist() == [100] * 5, byte
        value = torch.tensor([self.rank + 2j, 1j])
        dist.all_reduce(value, group=self.ring)
        assert value.tolist() == [complex(sum(range(self.size)), 2 * self.size), self.size * 1j], value
        small = self.mine(torch.int16)
        dist.all_reduce(small, group=self.ring)
        wide = self.mine(torch.int32)
        dist.all_reduce(wide)
        self.same(small.int(), wide, "int16")

    def check_sums_with_a_factor(self):
        for dtype in FLOATS:
            for factor in (0.5, torch.tensor(0.25)):
                op = dist._make_nccl_premul_sum(factor)
                right = self.mine(dtype, 1003) * factor  # exact in every type
                dist.all_reduce(right)
                got = self.mine(dtype, 1003)
                dist.all_reduce(got, op, group=self.ring)
                self.same(got, right, f"{factor} of {dtype}")
                given, share = self.mine(dtype, 5 * self.size), torch.zeros(5, dtype=dtype)
                before = given.clone()
                dist.reduce_scatter_tensor(share, given, op, group=self.ring)
                self.same(given, before, "the input")
                every = before * factor
                dist.all_reduce(every)
                self.same(share, every.chunk(self.size)[self.rank], f"a share of {factor} of {dtype}")
        own = dist._make_nccl_premul_sum(1.0 + self.rank)  # of each rank
        ones = torch.ones(3)
        dist.all_reduce(ones, own, group=self.ring)
        assert ones.tolist() == [sum(range(self.size + 1))] * 3, ones
        try:
            dist.all_reduce(torch.ones(1, dtype=torch.int32), own, group=self.ring)
            raise AssertionError("not refused")
        except ringrt.Unsupported as error:
            assert "PREMUL_SUM of torch.int32" in str(error), error

    def check_integers_without_a_sign(self):
        for dtype, wide in ((torch.uint32, torch.int64), (torch.uint64, torch.int64)):
            for name in ("SUM", "MAX", "MIN"):
                values = torch.tensor([1 << 31, 7 + self.rank, (1 << 31) + self.rank])
                got = values.to(dtype)
                dist.all_reduce(got, OPS[name], group=self.ring)
                dist.all_reduce(values, OPS[name])
                if dtype is torch.uint32:
                    values %= 1 << 32
                self.same(got.to(wide), values, f"{name} of {dtype}")

    def check_random_numbers_within_rounding(self):
        torch.manual_seed(self.rank)
        values = torch.randn(50021)
        one, other = values.clone(), values.clone()
        dist.all_reduce(one, group=self.ring)
        dist.all_reduce(other)
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
        again = values.clone()
        dist.all_reduce(again, group=self.ring)
        self.same(again, one, "the same sum again")
        ones = [torch.empty_like(one) for _ in range(self.size)]
        dist.all_gather(ones, one)
        for each in ones:
            self.same(each, one, "the sum at another rank")

    def check_memory_that_is_not_dense(self):
        base = torch.arange(24.0).reshape(4, 6) + self.rank
        expected = base.clone()
        dist.all_reduce(expected)
        turned = base.clone().t()
        dist.all_reduce(turned, group=self.ring)
        self.same(turned.t().contiguous(), expected, "transposed")
        every = base.clone()
        dist.all_reduce(every[:, ::2], group=self.ring)
        self.same(every[:, ::2], expected[:, ::2], "every second column")
        self.same(every[:, 1::2], base[:, 1::2], "the columns between")
        one = torch.tensor(float(self.rank))
        dist.all_reduce(one, group=self.ring)
        assert one.item() == sum(range(self.size))

    def check_copies(self):
        for root in range(self.size):
            for dtype in (torch.float32, torch.bool, torch.complex64, torch.float64):
                self.both(lambda tensor, group: dist.broadcast(tensor, root, group=group),
                          lambda: self.mine(count=1003).to(dtype), f"broadcast of {dtype}")
            self.both(lambda tensor, group: dist.reduce(tensor, root, group=group) if self.rank == root
                      else dist.reduce(tensor.clone(), root, group=group), lambda: self.mine(count=7), "reduce")
            self.both(lambda tensor, group: self.gathered(tensor, root, group), lambda: torch.zeros(self.size, 5), "gather")
            self.both(lambda tensor, group: self.scattered(tensor, root, group), lambda: torch.zeros(5), "scatter")
        self.both(lambda tensor, group: dist.all_gather(list(tensor), self.mine(), group=group),
                  lambda: torch.zeros(self.size, 5), "all_gather")
        self.both(lambda tensor, group: dist.all_gather_into_tensor(tensor, self.mine(), group=group),
                  lambda: torch.zeros(self.size * 5), "all_gather_into_tensor")
        self.both(lambda tensor, group: dist.reduce_scatter_tensor(tensor, self.mine(count=5 * self.size), group=group),
                  lambda: torch.zeros(5), "reduce_scatter_tensor")
        self.both(lambda tensor, group: dist.reduce_scatter(
            tensor, list(self.mine(count=5 * self.size).chunk(self.size)), group=group), lambda: torch.zeros(5), "reduce_scatter")
        dist.barrier(group=self.ring)

    def gathered(self, rows, root, group):
        dist.gather(self.mine(), list(rows) if self.rank == root else None, root, group=group)

    def scattered(self, row, root, group):
        rows = list(self.mine(count=5 * self.size).chunk(self.size)) if self.rank == root else None
        dist.scatter(row, rows, root, group=group)

    def check_all_to_all(self):
        self.both(lambda tensor, group: dist.all_to_all_single(tensor, self.mine(count=3 * self.size), group=group),
                  lambda: torch.zeros(3 * self.size), "all_to_all_single")
        gives = [other + 1 for other in range(self.size)]  # rows for each rank
        gets = [self.rank + 1] * self.size
        self.both(lambda tensor, group: dist.all_to_all_single(
            tensor, self.mine(count=2 * sum(gives)).reshape(-1, 2), gets, gives, group=group),
            lambda: torch.zeros(sum(gets), 2), "all_to_all_single, uneven")
        parts = [torch.full((2,), 10.0 * self.rank + other) for other in range(self.size)]
        got = [torch.zeros(2) for _ in range(self.size)]
        dist.all_to_all(got, parts, group=self.ring)
        assert [each[0].item() for each in got] == [10.0 * other + self.rank for other in range(self.size)], got

    def check_objects(self):
        every = [None] * self.size
        dist.all_gather_object(every, {"rank": self.rank, "text": "x" * (100 * self.rank)}, group=self.ring)
        assert [each["rank"] for each in every] == list(range(self.size))
        objects = ["of rank 0", 7] if self.rank == 0 else [None, None]
        dist.broadcast_object_list(objects, 0, group=self.ring)
        assert objects == ["of rank 0", 7]
        got = every if self.rank == 0 else None
        dist.gather_object(self.rank, got, 0, group=self.ring)
        assert self.rank or got == list(range(self.size))
        mine = [None]
        dist.scatter_object_list(mine, [f"for {other}" for other in range(self.size)], 0, group=self.ring)
        assert mine == [f"for {self.rank}"]

    # ---- work and futures ------------------------------------------------------------------------

    def check_operations_end_in_the_order_of_their_start(self):
        tensors = [torch.full((1 + 1000 * i,), float(i)) for i in range(20)]
        works = [dist.all_reduce(each, group=self.ring, async_op=True) for each in tensors]
        last = torch.ones(1)
        dist.all_reduce(last, group=self.ring)  # waits for those before it
        assert last.item() == self.size
        for i, (work, tensor) in reversed(list(enumerate(zip(works, tensors)))):
            assert work.wait()
            assert torch.equal(tensor, torch.full_like(tensor, i * self.size))
        value = torch.ones(3)
        future = dist.all_reduce(value, group=self.ring, async_op=True).get_future()
        assert future.then(lambda done: done.value()[0].sum().item()).wait() == 3 * self.size

    def check_functional_collectives(self):
        from torch.distributed import _functional_collectives as functional
        total = functional.all_reduce(torch.ones(5), "sum", self.ring)
        assert torch.equal(functional.wait_tensor(total), torch.full((5,), float(self.size)))
        every = functional.all_gather_single(self.mine(), 0, self.ring)
        expected = torch.zeros(5 * self.size)
        dist.all_gather_into_tensor(expected, self.mine())
        self.same(functional.wait_tensor(every), expected, "all_gather_single")
        share = functional.reduce_scatter_single(torch.ones(2 * self.size), "avg", 0, self.ring)
        assert torch.equal(functional.wait_tensor(share), torch.ones(2))

    # ---- groups, memory ----------------------------------------------------------------------------

    def check_groups_of_some_ranks(self):
        evens = dist.new_group(list(range(0, self.size, 2)), backend="ringrt")
        if self.rank % 2 == 0:
            total = torch.tensor(float(self.rank))
            dist.all_reduce(total, group=evens)
            assert total.item() == sum(range(0, self.size, 2))
            dist.destroy_process_group(evens)

    def check_properties_that_torch_reads(self):
        backend = self.ring._get_backend(torch.device("cpu"))
        for name in dir(torch._C._distributed_c10d.Backend):
            try:
                getattr(backend, name)
            except RecursionError:
                raise AssertionError(f"{name} asks for itself") from None
            except RuntimeError:
                pass  # the backend has none
        assert backend.options.backend == "ringrt"

    def check_memory_in_place(self):
        group = dist.new_group(backend="ringrt")
        backend = group._get_backend(torch.device("cpu"))
        for count in (1, 1003, 1 << 20):
            values = backend.allocate_tensor(count)
            values += self.mine(count=count)
            dist.all_reduce(values, group=group)
            expected = self.mine(count=count)
            dist.all_reduce(expected)
            self.same(values, expected, f"{count} elements in the group's memory")
        dist.destroy_process_group(group)
        self.same(values, expected, "after the group's end")

    # ---- training ------------------------------------------------------------------------------------

    def trained(self, group):
        torch.manual_seed(3)
        net = torch.nn.Sequential(torch.nn.Linear(20, 33), torch.nn.BatchNorm1d(33), torch.nn.ReLU(), torch.nn.Linear(33, 7))
        model = DistributedDataParallel(net, process_group=group, bucket_cap_mb=0.002)
        opt = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)  # Adam makes steps of what is rounding
        data = torch.Generator().manual_seed(100 + self.rank)
        for step in range(24):
            x = torch.randn(5, 20, generator=data)
            if step % 4 == 0:
                with model.no_sync():
                    model(x).square().mean().backward()
            model(x).square().mean().backward()
            opt.step()
            opt.zero_grad()
        return torch.cat([each.detach().reshape(-1) for each in net.parameters()])

    def check_ddp_trains_as_with_gloo(self):
        ring, gloo = self.trained(self.ring), self.trained(None)
        worst = ((ring - gloo).abs().max() / gloo.abs().max()).item()
        if self.rank == 0:
            print(f"measured: {self.size} ranks, weights after 24 steps of DDP: {worst:.1e} from Gloo's", flush=True)
        assert worst < 1e-6, worst
        assert self.size > 2 or worst == 0, "two numbers have one sum"
        every = [torch.empty_like(ring) for _ in range(self.size)]
        dist.all_gather(every, ring)
        for other in every:
            self.same(other, ring, "weights of another rank")

    def check_fsdp_shards_and_its_checkpoint_comes_back(self):
        import torch.distributed.checkpoint as dcp
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.fsdp import fully_shard

        def trained(group, steps):
            torch.manual_seed(4)
            net = torch.nn.Sequential(torch.nn.Linear(20, 33), torch.nn.ReLU(), torch.nn.Linear(33, 7))
            mesh = DeviceMesh.from_group(group, "cpu")
            for layer in (net[0], net[2], net):
                fully_shard(layer, mesh=mesh)
            if group is self.ring:
                net.set_allocate_memory_from_process_group_for_comm(True)
            opt = torch.optim.SGD(net.parameters(), lr=1e-2)
            data = torch.Generator().manual_seed(100 + self.rank)
            for _ in range(steps):
                net(torch.randn(5, 20, generator=data)).square().mean().backward()
                opt.step()
                opt.zero_grad()
            return net

        def shard(net):
            return torch.cat([each.to_local().detach().reshape(-1) for each in net.parameters()])

        net = trained(self.ring, 6)
        torch.testing.assert_close(shard(net), shard(trained(dist.group.WORLD, 6)), rtol=1e-6, atol=1e-6)
        directory = [tempfile.mkdtemp() if self.rank == 0 else None]
        dist.broadcast_object_list(directory, 0, group=self.ring)
        dcp.save(net.state_dict(), checkpoint_id=directory[0], process_group=self.ring)
        fresh = trained(self.ring, 0)
        dcp.load(fresh.state_dict(), checkpoint_id=directory[0], process_group=self.ring)
        self.same(shard(fresh), shard(net), "what the checkpoint held")
        dist.barrier(group=self.ring)
        if self.rank == 0:
            shutil.rmtree(directory[0])

    # ---- what goes wrong -----------------------------------------------------------------------------

    def refused(self, kind, line, call):
        try:
            call()
        except kind as error:
            assert line in str(error) and "\n" not in str(error), str(error)
        else:
            raise AssertionError(f"not refused: {line}")

    def check_what_is_refused_leaves_the_group_whole(self):
        one = torch.ones(3)
        self.refused(ringrt.Unsupported, "has no send and recv", lambda: dist.send(one, (self.rank + 1) % self.size, group=self.ring))
        self.refused(ringrt.Unsupported, "has no BXOR of torch.int32",
                     lambda: dist.all_reduce(one.int(), dist.ReduceOp.BXOR, group=self.ring))
        self.refused(ringrt.InvalidArgument, "not of one type and size",
                     lambda: dist.all_gather([torch.ones(2 + i) for i in range(self.size)], torch.ones(2), group=self.ring))
        dist.all_reduce(one, group=self.ring)
        assert one[0].item() == self.size
        gone = dist.new_group(backend="ringrt")
        backend = gone._get_backend(torch.device("cpu"))
        dist.destroy_process_group(gone)
        self.refused(ringrt.InvalidArgument, "was destroyed", lambda: backend.allreduce([one]))

    def check_ranks_that_disagree_are_told(self):
        group = dist.new_group(backend="ringrt")
        self.refused(ringrt.Error, "rank", lambda: dist.all_reduce(torch.ones(3 + self.rank % 2), group=group))
        dist.destroy_process_group(group)

    def check_a_lost_rank_is_named(self):  # the last: one rank is gone after it
        group = dist.new_group(backend="ringrt")
        model = DistributedDataParallel(torch.nn.Linear(4, 1), process_group=group)
        dist.barrier()
        if self.rank == 1:
            os._exit(0)
        try:
            model(torch.ones(2, 4)).sum().backward()
        except RuntimeError as error:
            assert "rank 1" in str(error), str(error)
        else:
            raise AssertionError("DDP did not see that a rank is gone")
        self.refused(ringrt.PeerLost, "rank 1", lambda: dist.all_reduce(torch.ones(1), group=group))


def main():
    checks = Checks()
    begun = time.monotonic()
    for name in [each for each in vars(Checks) if each.startswith("check_")]:
        try:
            getattr(checks, name)()
        except BaseException as error:
            print(f"{name}, rank {checks.rank}: {type(error).__name__}: {error}", flush=True)
            raise
        if checks.rank == 0:
            print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)
    sys.stdout.flush()
    os._exit(0)  # Gloo's own group has lost a rank


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
