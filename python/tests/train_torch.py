# SPDX-License-Identifier: BSD-3-Clause
"""The training of test_malleable: contrib/examples/ddp.py's loop, in float64 so that the order of sums
hardly shows, and each rank writes down which samples it has trained with."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import ringrt.torch

EPOCHS, SAMPLES, BATCH = 3, 203, 4


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


def main(kind, pause_s, workers, epochs):
    dist.init_process_group(os.environ.get("BACKEND", "gloo"))
    torch.manual_seed(5)
    rank = dist.get_rank()
    net = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.Tanh(), torch.nn.Dropout(0.2),
                              torch.nn.Linear(24, 1)).double()
    model = DistributedDataParallel(net)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.StepLR(opt, 7, 0.7)  # by steps
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)  # by epochs
    data = Noted()
    sampler = DistributedSampler(data) if kind == "distributed" else None
    loader = DataLoader(data, BATCH, sampler=sampler, shuffle=sampler is None, num_workers=workers)
    run = ringrt.torch.malleable(loader, model=model, opt=opt, sched=[sched, plateau])
    notes = open(os.path.join(os.environ["FOLDER"], f"seen.{os.environ.get('SLURM_RESTART_COUNT', 0)}.{rank}"), "w",
                 buffering=1, encoding="ascii")
    for epoch in run.epochs(epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for index, x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            if kind == "distributed":  # both orders are usual
                opt.zero_grad()
            loss.backward()
            if run.last:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            if kind != "distributed":
                opt.zero_grad()
            if torch.isfinite(loss):
                print(epoch, run.steps_done, *index.tolist(), file=notes)
            time.sleep(pause_s)
        plateau.step(1.0)
    if rank == 0:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(),
                    "steps": run.steps_done, "plateau": plateau.state_dict()},
                   os.path.join(os.environ["FOLDER"], "result"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else EPOCHS)
