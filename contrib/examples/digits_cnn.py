#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small convolutional network in PyTorch that learns handwritten digits (get-digits DIGITS.csv), made malleable by three
lines (marked). `contrib/demo --torch` runs it. Submit it as

    RINGRT_LIVE_RESIZE=1 sbatch --malleable=1:4 --wrap 'srun python digits_cnn.py --data DIGITS.csv'

Outside malleable jobs it runs on one node. It uses CPUs, in float64: sums then hardly depend on the number of ranks, so the losses of runs can be compared."""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import ringrt.torch  # 1

TRAIN_IMAGES = 1408  # of 1797; the rest are for the test
GLOBAL_BATCH = 64


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="digits.csv, as get-digits writes it")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-ranks", type=int, default=4, help="divides 64; a step takes 64 samples at every number of ranks")
    parser.add_argument("--device-ms-per-sample", type=float, default=0, help="time to sleep, in place of a GPU's time")
    parser.add_argument("--loss-csv", help="append one row per step")
    parser.add_argument("--json", help="write a summary at the end")
    return parser.parse_args()


def read_images(path):
    """Training and test set, the same in every run. The third part of a sample is its number."""
    with open(path, encoding="ascii") as file:
        rows = torch.tensor([[float(value) for value in line.split(",")] for line in file])
    rows = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(1998))]
    images, labels = rows[:, :64].reshape(-1, 1, 8, 8) / 16, rows[:, 64].long()
    parts = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)
    return [TensorDataset(images[part], labels[part], torch.arange(len(labels[part]))) for part in parts]


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Dropout(0.1), torch.nn.Linear(128, 10))


class Record:
    """What the training has done so far: how often it has seen each image, and its loss. A part of its state, so a
    resize keeps it."""

    def __init__(self, path):
        self.seen, self.loss, self._path = torch.zeros(TRAIN_IMAGES), 0.0, path
        self._step = torch.zeros(TRAIN_IMAGES + 2)  # of the step under way: images, sum of the loss, samples

    def state_dict(self):
        return {"seen": self.seen.clone(), "loss": self.loss}

    def load_state_dict(self, state):
        self.seen, self.loss = state["seen"].clone(), state["loss"]

    def add(self, run, numbers, loss):
        """Of one micro-batch. Collective at a step's last."""
        if run.first:
            self._step.zero_()
        self._step[numbers] += 1
        self._step[-2:] += torch.tensor([float(loss) * len(numbers), len(numbers)])
        if run.last:
            dist.all_reduce(self._step)
            self.seen += self._step[:TRAIN_IMAGES]
            self.loss = float(self._step[-2] / self._step[-1])
            self._log(run)

    def _log(self, run):
        if run.rank != 0 or not self._path:
            return
        new = not os.path.exists(self._path)
        with open(self._path, "a", encoding="ascii") as file:
            if new:
                file.write("step,epoch,loss,gpus,restart,time_s\n")
            step = run.steps_done + 1
            file.write(f"{step},{step / run.steps_per_epoch:.4f},{self.loss:.9g},{run.size},"
                       f"{os.environ.get('SLURM_RESTART_COUNT', 0)},{time.time():.3f}\n")


def accuracy(net, test):
    images, labels, _ = test.tensors
    net.eval()
    with torch.no_grad():
        return (net(images).argmax(1) == labels).double().mean().item()


def summary(options, record, net, test):
    lacking = options.epochs - record.seen
    return {"program": "digits_cnn", "loss": record.loss, "accuracy": accuracy(net, test),
            "samples": int(record.seen.sum()), "samples_lost": int(lacking.clamp(min=0).sum()),
            "samples_duplicated": int((-lacking).clamp(min=0).sum())}


def main():
    options = parse()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    if "WORLD_SIZE" not in os.environ:  # not in a malleable job
        os.environ.update(RANK=os.environ.get("SLURM_PROCID", "0"), WORLD_SIZE=os.environ.get("SLURM_NTASKS", "1"),
                          MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + int(os.environ.get("SLURM_JOB_ID", 0)) % 10000))
    dist.init_process_group("gloo")
    torch.manual_seed(options.seed)
    train, test = read_images(options.data)
    model = DistributedDataParallel(network())
    opt = torch.optim.AdamW(model.parameters(), lr=6e-3)
    loader = DataLoader(train, GLOBAL_BATCH // options.max_ranks, sampler=DistributedSampler(train, seed=options.seed))
    record = Record(options.loss_csv)
    run = ringrt.torch.malleable(loader, model=model, opt=opt, reference=options.max_ranks, record=record)  # 2
    for epoch in run.epochs(options.epochs):  # 3
        loader.sampler.set_epoch(epoch)
        for images, labels, numbers in loader:
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            opt.step()
            record.add(run, numbers, loss)
            time.sleep(options.device_ms_per_sample * len(numbers) / 1000)
        if run.rank == 0:
            print(f"epoch {epoch}: loss {record.loss:.4f} on {run.size} ranks", flush=True)
    if run.rank == 0 and options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump(summary(options, record, model.module, test), file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
