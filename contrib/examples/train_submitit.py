#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A PyTorch training with submitit, which saves and requeues in submitit's own way, without a line for ringrt. The
range and the signal, which is submitit's own, come from the submitter's environment:

    SBATCH_MALLEABLE=1:8 SBATCH_MALLEABLE_SIGNAL=USR2 python train_submitit.py --folder ~/run"""
import argparse
import os
import time

import submitit


class Training:
    """Called on every rank. When the job is asked to leave, submitit pickles it on rank 0."""

    def __init__(self, folder, steps, pause_s):
        self.folder, self.steps, self.pause_s = folder, steps, pause_s

    def __call__(self):
        import torch
        import torch.distributed as dist

        self.torch = torch
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        torch.manual_seed(0)
        model = torch.nn.Linear(16, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.01)
        ddp = torch.nn.parallel.DistributedDataParallel(model)
        done = 0
        if os.path.exists(self.path("state.pt")):
            saved = torch.load(self.path("state.pt"))
            model.load_state_dict(saved["model"])
            opt.load_state_dict(saved["opt"])
            done = saved["done"]
        rank, size = dist.get_rank(), dist.get_world_size()
        for step in range(done, self.steps):
            x = torch.randn(64, 16, generator=torch.Generator().manual_seed(step))[rank::size]
            opt.zero_grad()
            ddp(x).sub(x.sum(1, keepdim=True)).square().mean().backward()
            opt.step()
            time.sleep(self.pause_s)
            if rank == 0:
                with open(self.path("log"), "a", encoding="ascii") as log:
                    print(os.environ.get("SLURM_RESTART_COUNT", "0"), size, step, file=log)
                self.save({"model": model.state_dict(), "opt": opt.state_dict(), "done": step + 1})
        dist.destroy_process_group()
        return step + 1

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, state):
        self.torch.save(state, self.path("state.new"))
        os.replace(self.path("state.new"), self.path("state.pt"))

    def checkpoint(self):
        """submitit calls it on its signal, then requeues the job. The state is already on disk."""
        return submitit.helpers.DelayedSubmission(Training(self.folder, self.steps, self.pause_s))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.abspath("submitit_run"))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step")
    parser.add_argument("--local", action="store_true", help="one process here, without Slurm")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    executor = submitit.AutoExecutor(options.folder, cluster="local" if options.local else "slurm")
    executor.update_parameters(timeout_min=60, nodes=1, tasks_per_node=1, gpus_per_node=0 if options.local else 1)
    job = executor.submit(Training(options.folder, options.steps, options.pause))
    print("job", job.job_id, flush=True)
    print("steps done:", job.result())


if __name__ == "__main__":
    main()
