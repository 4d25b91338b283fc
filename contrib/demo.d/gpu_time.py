# SPDX-License-Identifier: BSD-3-Clause
"""GPU time lost to resizes: held by a training that does not compute.

Slurm's side is sampled: how many GPUs each job holds. The training's side is its step log. A job between two runs
holds its next size, because no other job can have those GPUs. Start-up before the first step and the work after
the last one are not resizes, and are excluded from all runs."""
from dataclasses import dataclass


@dataclass
class GpuTime:
    held_s: float = 0.0      # GPUs x seconds
    computed_s: float = 0.0


def next_size(phases, time_s):
    return next((phase.gpus for phase in phases if phase.start_s > time_s), 0)


def held_s(phases, samples):
    """Between the first and the last step. A sample is valid until half-way to its neighbours."""
    first_s, last_s = phases[0].start_s, phases[-1].end_s
    times = [time_s for time_s, _ in samples]
    edges = [first_s, *((a + b) / 2 for a, b in zip(times, times[1:])), last_s]
    total = 0.0
    for (time_s, gpus), begin, end in zip(samples, edges, edges[1:]):
        seconds = min(end, last_s) - max(begin, first_s)
        total += max(0.0, seconds) * (gpus or next_size(phases, time_s))
    return total


def computed_s(phases):
    """All steps but the first, whose start is unknown. A step after a resize is as long as its neighbours."""
    total = sum(phase.gpus * (phase.end_s - phase.start_s) for phase in phases)
    for before, phase in zip(phases, phases[1:]):
        between_s = phase.start_s - before.end_s
        total += phase.gpus * min(between_s, phase.step_s or between_s)
    return total


def of(phases, samples):
    return GpuTime(held_s(phases, samples), computed_s(phases)) if phases and samples else GpuTime()


def idle_share(times):
    held, computed = sum(time.held_s for time in times), sum(time.computed_s for time in times)
    return max(0.0, held - computed) / held if held else 0.0
