# SPDX-License-Identifier: BSD-3-Clause
"""How long a PyTorch training with 100 MB of state stands still where an extension of 2 ranks joins, leaves, and is
killed: the time between two micro-batches of rank 0 with a resize in it, less the usual one at the size where it is less.
`measure_live.py [ROUNDS [RANKS OF THE BASE [fsdp2]]]` with the library of RINGRT_LIBRARY; fsdp2: the state is divided by
fully_shard()."""
import os
import signal
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)


def train():
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import ringrt.torch
    dist.init_process_group("gloo")
    model = torch.nn.Linear(2048, 4096)  # with AdamW's two moments 100 MB
    if os.environ.get("MEASURE") == "fsdp2":
        from torch.distributed.fsdp import fully_shard
        fully_shard(model)
    else:
        model = DistributedDataParallel(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = torch.utils.data.DataLoader(torch.randn(1 << 16, 2048), 1, shuffle=True)
    run = ringrt.torch.malleable(loader, model=model, opt=opt)
    size, begun = run.size, time.perf_counter()
    for _ in run.epochs(1):
        for x in loader:
            now = time.perf_counter()
            if run.rank == 0:
                print(size, run.size, now - begun, flush=True)
            size, begun = run.size, now
            opt.zero_grad()
            model(x).square().mean().backward()
            opt.step()


def times(job):
    """(ranks before, ranks then, seconds) of rank 0's micro-batches."""
    lines = [line.split() for line in job.text("out.0.0").split("\n")[:-1] if line[:1].isdigit()]
    return [(int(was), int(then), float(seconds)) for was, then, seconds in lines]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    kind = sys.argv[3] if len(sys.argv) > 3 else "ddp"
    job = support.Job(os.path.abspath(__file__), "train", environment={"RINGRT_LIVE_RESIZE": "1", "MEASURE": kind})
    extension = []
    try:
        job.start(ranks)
        for number in range(2 * rounds):
            before = len(times(job))
            extension = job.spawn(2, "1:4", f"out.ext{number}", {"RINGRT_EXTENDS": "7", "SLURM_JOB_ID": str(8 + number)})
            job.wait_for("join", lambda: [1 for was, then, _ in times(job)[before:-1] if was == then == ranks + 2])
            before = len(times(job))
            extension[0].send_signal(signal.SIGKILL if number % 2 else signal.SIGURG)
            job.wait_for("end", lambda: [1 for was, then, _ in times(job)[before:-1] if was == then == ranks])
            for one in extension:
                one.wait()
        every = times(job)
    finally:
        for one in extension:
            one.kill()
        job.close()
    usual = {size: statistics.median(s for was, then, s in every if was == then == size) for size in (ranks, ranks + 2)}
    joins = [s - min(usual.values()) for was, then, s in every if was < then]
    ends = [s - min(usual.values()) for was, then, s in every if was > then]
    for what, some in (("join", joins), ("leave", ends[::2]), ("killed", ends[1::2])):
        print(f"{what} ms: median {statistics.median(some) * 1e3:.0f}, worst {max(some) * 1e3:.0f} of {len(some)}")
    print(f"a micro-batch ms: {usual[ranks] * 1e3:.0f} with {ranks} ranks, {usual[ranks + 2] * 1e3:.0f} with {ranks + 2}")


if __name__ == "__main__":
    train() if sys.argv[1:] == ["train"] else main()
