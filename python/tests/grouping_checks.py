# SPDX-License-Identifier: BSD-3-Clause
"""One rank of a test of test_malleable.py: DDP and the buckets that were planned for it."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import ringrt.torch
from ringrt.torch import grouping
from ringrt.torch.buckets import MIB, Gradient, Link


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64))])


def bucket_sizes(model, opt):
    """Bytes of those of two more steps' second: DDP groups anew after its first."""
    seen = []

    def noted(_, bucket):
        seen.append(bucket.buffer().numel() * 4)
        return dist.all_reduce(bucket.buffer().div_(2), async_op=True).get_future().then(lambda done: done.value()[0])

    model.register_comm_hook(None, noted)
    steps(model, 1, opt)
    seen.clear()
    steps(model, 1, opt)
    return seen


def steps(model, count, opt):
    for step in range(count):
        torch.manual_seed(100 * step + dist.get_rank())
        opt.zero_grad()
        model(torch.randn(8, 64)).square().mean().backward()
        opt.step()


def check_alone(has_list, link):
    grouping._HAS_LIST, grouping.measure_link = has_list, lambda *_: link
    net, x = network(), torch.randn(8, 64)
    options = ringrt.torch.plan_buckets(net, lambda: net(x).square().mean().backward())
    assert all(parameter.grad is None for parameter in net.parameters())
    assert list(options) == ["bucket_cap_mb_list" if has_list else "bucket_cap_mb"], options
    model = DistributedDataParallel(net, **options)
    return options, bucket_sizes(model, torch.optim.SGD(model.parameters(), 0.1))


def check_reform():
    """Trains on as if nothing had been."""
    models = [DistributedDataParallel(network(), gradient_as_bucket_view=True) for _ in range(2)]
    opts = [torch.optim.SGD(model.parameters(), 0.1, momentum=0.9) for model in models]
    for model, opt in zip(models, opts):
        steps(model, 3, opt)
    models[1].eval()
    models[1].module[0].train()  # in another mode than the rest
    grouping.rebuild_ddp(models[1], bucket_cap_mb=8192 / MIB)
    assert not models[1].training and models[1].gradient_as_bucket_view
    assert [one.training for one in models[1].module] == [True] + 7 * [False]
    models[1].train()
    for model, opt in zip(models, opts):
        steps(model, 4, opt)
    for mine, other in zip(models[0].state_dict().values(), models[1].state_dict().values()):
        assert torch.equal(mine, other)  # two ranks: no order of adding
    sizes = [bucket_sizes(model, opt) for model, opt in zip(models, opts)]
    assert len(sizes[0]) == 1 and len(sizes[1]) > 3, sizes


def check_refused():
    unused = DistributedDataParallel(network(), find_unused_parameters=True)
    hooked = DistributedDataParallel(network())
    hooked.register_comm_hook(None, lambda _, bucket: dist.all_reduce(bucket.buffer(), async_op=True).get_future())
    mixed = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).double()))
    for model, line in [(unused, "find_unused_parameters"), (hooked, "communication hook"), (mixed, "several types")]:
        try:
            grouping.Regrouping(model, [model])
        except ValueError as error:
            assert line in str(error), error
        else:
            raise AssertionError(line)


def main():
    dist.init_process_group("gloo")
    measured = grouping.measure_link()
    assert measured.start_s >= 0 and measured.byte_s > 0, measured
    every = [4 * parameter.numel() for parameter in network().parameters()]
    # Where a start costs nothing a bucket need not wait for the next gradient; where it takes forever there is one.
    options, sizes = check_alone(True, Link(0.0, 1e-9))
    assert sizes == [round(one * MIB) for one in options["bucket_cap_mb_list"]] and sum(sizes) == sum(every), (options, sizes)
    assert len(sizes) > 1
    assert check_alone(True, Link(1e6, 1e-9))[1] == [sum(every)]
    assert check_alone(False, Link(1e6, 1e-9))[1] == [sum(every)]
    assert grouping.in_ready_order([Gradient(1, 2.0), Gradient(2, 1.0)])[0].size == 2
    check_reform()
    check_refused()
    dist.destroy_process_group()


main()
