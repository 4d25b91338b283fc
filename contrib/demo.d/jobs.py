# SPDX-License-Identifier: BSD-3-Clause
"""The demo's jobs (jobs.tsv; torch.tsv with --torch)."""
from dataclasses import dataclass

BATCH = 64
TRAIN_IMAGES = 1408


@dataclass
class Job:
    name: str
    arrival_s: float
    gpus_min: int
    gpus_max: int
    gpus_fixed: int
    epochs: int
    seed: int

    @property
    def steps(self):
        return self.epochs * TRAIN_IMAGES // BATCH


def load(path):
    jobs = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, *numbers = line.split()
                jobs.append(Job(name, float(numbers[0]), *map(int, numbers[1:])))
    return jobs
