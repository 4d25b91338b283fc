# SPDX-License-Identifier: BSD-3-Clause
"""A program with its own loop and a model on a mesh: `hsdp` (replicas of shards), or `tp` (tensor parallel). All ranks
train with the same batch, so the weights do not depend on the mesh. DCP reshards them after a resize."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import ringrt
import ringrt.torch

STEPS = 60


class App:
    def __init__(self, model, opt):
        self.model, self.opt, self.done = model, opt, []

    def state_dict(self):
        model, opt = get_state_dict(self.model, self.opt)
        return {"model": model, "opt": opt, "done": list(self.done)}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.opt, model_state_dict=state["model"], optim_state_dict=state["opt"])
        self.done = list(state["done"])


def on_mesh(kind, net, size):
    if kind == "tp":
        mesh = init_device_mesh("cpu", (size,))
        return parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    mesh = init_device_mesh("cpu", (max(1, size // 2), min(2, size)), mesh_dim_names=("replicate", "shard"))
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def main(kind, pause_s):
    dist.init_process_group("gloo")
    torch.manual_seed(5)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).double()
    model = on_mesh(kind, net, dist.get_world_size())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    app = App(model, opt)
    with ringrt.Run(ringrt.torch.DistributedState({"app": app}), steps=STEPS) as run:
        while run.step():
            x = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(run.steps_done))
            opt.zero_grad()
            model(x).square().mean().backward()
            opt.step()
            app.done.append(run.size)
            time.sleep(pause_s)
            if run.rank == 0:
                with open(os.path.join(os.environ["DIRECTORY"], "step"), "w", encoding="ascii") as file:
                    file.write(f"{run.steps_done} {run.size}")
    whole = {name: value.full_tensor() if hasattr(value, "full_tensor") else value
             for name, value in model.state_dict().items()}
    if dist.get_rank() == 0:
        torch.save({"net": whole, "done": app.done}, os.path.join(os.environ["DIRECTORY"], "result"))
    dist.barrier()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
    sys.stdout.flush()
    os._exit(0)  # as train_torch.py
