# SPDX-License-Identifier: BSD-3-Clause
"""The training of test_malleable: contrib/examples/ddp.py's loop, in float64 so that the order of sums
hardly shows, and each rank writes down which samples it has trained with."""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import ringrt.torch
from pauses import slowed

EPOCHS, SAMPLES, BATCH = 3, 203, 4
DEVICE = torch.device(os.environ.get("RINGRT_TEST_DEVICE", "cpu"))
SHARDED = ("sharded", "fsdp", "fsdp_validated", "by_columns")
BREAK = os.path.join(os.environ["DIRECTORY"], "break")


class Noted(Dataset):
    """Each sample says which it is; a random number stands for augmentation."""

    def __init__(self):
        generator = torch.Generator().manual_seed(3)
        self.x = torch.randn(SAMPLES, 16, generator=generator, dtype=torch.float64)
        self.y = self.x @ torch.randn(16, 1, generator=generator, dtype=torch.float64)

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return index, self.x[index] + 0.01 * torch.randn(16, dtype=torch.float64), self.y[index]


class Odd(torch.nn.Module):
    """A parameter that some micro-batches do not use, and buffers that are no statistics."""

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.zeros(16))
        self.never = torch.nn.Parameter(torch.zeros(3))
        self.register_buffer("latest", torch.zeros(16))
        self.register_buffer("mask", torch.tensor([float("-inf"), 0.0]))
        self.register_buffer("used", torch.tensor(False))

    def forward(self, x):
        uses, shifted = x[0, 0] > 0, x + 0.1 * self.latest
        self.latest.copy_(x[0])
        self.used.logical_or_(uses)
        return shifted + self.shift if uses else shifted


def network(kind):
    layers = [torch.nn.Linear(16, 24), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(24, 1)]
    if kind == "bits":  # in float32 the order of sums shows
        layers[1:1] = [torch.nn.BatchNorm1d(24)]
        return torch.nn.Sequential(Odd(), *layers)
    return torch.nn.Sequential(*layers).double()


def sharded(net, **options):
    """By FSDP2; shards of one row and of none."""
    from torch.distributed.fsdp import fully_shard
    for layer in (net[0], net[3]):
        fully_shard(layer, **options)
    return fully_shard(net)


def by_columns(parameter):
    from torch.distributed.tensor import Shard
    return Shard(parameter.ndim - 1)


def broken_saves():
    """BREAK makes the last rank's part of a checkpoint fail."""
    from torch.distributed import checkpoint
    write, breaks = checkpoint.FileSystemWriter.write_data, dist.get_rank() == dist.get_world_size() - 1

    def write_or_break(self, plan, planner):
        written = write(self, plan, planner)
        if breaks and os.path.exists(BREAK):
            raise OSError("the disk is full")
        return written

    checkpoint.FileSystemWriter.write_data = write_or_break


def planned():
    """On a link where nothing but bytes takes time several buckets are best, if little. Notes that DDP got them."""
    from ringrt.torch import grouping
    from ringrt.torch.buckets import Link
    rebuild_ddp = grouping.rebuild_ddp

    def noted(model, **options):
        rebuild_ddp(model, **options)
        with open(os.path.join(os.environ["DIRECTORY"], "reformed"), "a", encoding="ascii") as file:
            print(len(options["bucket_cap_mb_list"]), file=file)

    grouping.measure_link, grouping.rebuild_ddp, grouping._GAIN = lambda *_: Link(0.0, 1e-7), noted, -1.0


def validated():
    """1.0, if all ranks are there. A file `die` ends this one just before."""
    if os.path.exists(os.path.join(os.environ["DIRECTORY"], "die")):
        os.kill(os.getpid(), signal.SIGKILL)
    value = torch.ones(1, device=DEVICE)
    dist.all_reduce(value)
    return float(value) / dist.get_world_size()


class Two(torch.nn.Module):
    """Two networks, each with a loss, a backward and an optimizer of its own in every step, and counts of their
    updates that no optimizer has. A file `die` ends this rank between the two."""

    def __init__(self):
        super().__init__()
        self.nets = torch.nn.ModuleList(network("distributed") for _ in range(2))
        self.register_buffer("updates", torch.zeros(2, dtype=torch.int64))

    def forward(self, x, which):
        return self.nets[which](x)


def train_two(model, opts, run, x, y):
    for which, opt in enumerate(opts):
        model.module.updates[which] += run.last
        torch.nn.functional.mse_loss(model(x, which), y).backward()
        opt.step()
        if which == 0 and run.last and os.path.exists(os.path.join(os.environ["DIRECTORY"], "die")):
            os.kill(os.getpid(), signal.SIGKILL)
    for opt in opts:
        opt.zero_grad()


def whole(value):
    """A state without DTensors."""
    if isinstance(value, dict):
        return {key: whole(one) for key, one in value.items()}
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def share_the_gpu():
    """NCCL rejects two ranks on one GPU unless it takes them for ranks of different hosts."""
    torch.cuda.set_device(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    os.environ.update(NCCL_HOSTID=os.environ["RANK"], NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")


def main(kind, pause_s, workers, epochs):
    if DEVICE.type == "cuda":
        share_the_gpu()
    dist.init_process_group(os.environ.get("BACKEND", "gloo"))
    torch.manual_seed(5)
    rank = dist.get_rank()
    net = (Two() if kind == "two" else network(kind)).to(DEVICE)
    if kind == "sharded":
        broken_saves()
    options = {"shard_placement_fn": by_columns} if kind == "by_columns" else {}
    model = sharded(net, **options) if kind in SHARDED else DistributedDataParallel(net, find_unused_parameters=kind == "two")
    parts = net.nets if kind == "two" else [model]
    opts = [torch.optim.AdamW(part.parameters(), lr=1e-2) for part in parts]
    opt = opts[0]
    sched = torch.optim.lr_scheduler.StepLR(opt, 7, 0.7)  # by steps
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)  # by epochs
    data = Noted()
    sampler = DistributedSampler(data) if kind != "shuffled" else None
    loader = DataLoader(data, BATCH, sampler=sampler, shuffle=sampler is None, num_workers=workers)
    if kind == "planned":
        planned()
    run = ringrt.torch.malleable(loader, model=model, opt=opts, sched=[sched, plateau],
                                 same_bits=kind == "bits", plan_buckets=kind == "planned")
    notes = open(os.path.join(os.environ["DIRECTORY"], f"seen.{os.environ.get('SLURM_RESTART_COUNT', 0)}.{rank}"), "w",
                 buffering=1, encoding="ascii")
    for epoch in run.epochs(epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for index, x, y in loader:
            x, y = x.to(DEVICE), y.to(DEVICE)
            if kind == "bits":
                x, y = x.float(), y.float()
            if kind == "two":
                train_two(model, opts, run, x, y)
                sched.step()
                print(epoch, run.steps_done, *index.tolist(), file=notes)
                time.sleep(slowed(pause_s))
                continue
            loss = torch.nn.functional.mse_loss(model(x), y)
            if torch.isfinite(loss):  # before the exchange: a rank that is killed after it has its part in the step
                print(epoch, run.steps_done, *index.tolist(), file=notes)
            if kind in ("distributed", "validated", "fsdp"):  # both orders are usual
                opt.zero_grad()
            loss.backward()
            if run.last:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            if kind != "distributed":
                opt.zero_grad()
            time.sleep(slowed(pause_s))  # not at its end before it is killed
        plateau.step(validated() if kind.endswith("validated") else 1.0)
    result = {"net": whole(net.state_dict()), "opt": whole(opt.state_dict()), "sched": sched.state_dict(),
              "steps": run.steps_done, "plateau": plateau.state_dict()}
    if rank == 0:
        torch.save(result, os.path.join(os.environ["DIRECTORY"], "result"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else EPOCHS)
    # Not by the interpreter's end: a thread of torch's that waits for the GIL then makes the process abort ("terminate
    # called without an active exception", PyTorch's issue 38228). FSDP2 has eight threads more than DDP.
    sys.stdout.flush()
    os._exit(0)
