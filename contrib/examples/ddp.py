#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A plain PyTorch DDP training, made malleable by three lines (marked). Submit it as

    sbatch --malleable=1:8 --wrap 'srun python ddp.py'

It runs one process per GPU, at any number of GPUs. RANK, WORLD_SIZE and MASTER_… are set in every step of a
malleable job. Without Slurm it is one process: python ddp.py."""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import ringrt.torch  # 1


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=1003)
    parser.add_argument("--batch", type=int, default=8, help="of one GPU at the most GPUs")
    parser.add_argument("--workers", type=int, default=0, help="of the DataLoader")
    parser.add_argument("--weights", help="file for the weights at the end")
    return parser.parse_args()


def make_data(samples):
    """Random images, labelled by a random network."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(samples, 64, generator=generator)
    return TensorDataset(x, (x @ torch.randn(64, 10, generator=generator)).argmax(1))


def main():
    options = parse()
    cuda = torch.cuda.is_available()
    if "WORLD_SIZE" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Dropout(0.1),
                              torch.nn.Linear(128, 10)).to(device)
    model = DistributedDataParallel(net)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, options.epochs)
    data = make_data(options.samples)
    loader = DataLoader(data, options.batch, sampler=DistributedSampler(data), num_workers=options.workers)
    run = ringrt.torch.malleable(loader, model=model, opt=opt, sched=sched)  # 2
    for epoch in run.epochs(options.epochs):  # 3
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            opt.step()
        sched.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f} on {dist.get_world_size()} ranks", flush=True)
    if options.weights and dist.get_rank() == 0:
        torch.save(net.state_dict(), options.weights)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
