#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A data-parallel JAX training, made malleable by ringrt.Run (lines marked). Submit it as

    sbatch --malleable=1:8 --wrap 'srun python train_jax.py'

It runs one process per GPU, at any number of GPUs. JAX reduces the gradients, because the batch is sharded over
the processes and the weights are not. ringrt assigns the samples, saves, and lets the job be resized."""
import argparse
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import ringrt  # 1

WIDTHS, BATCH, SAMPLES = (64, 128, 10), 64, 1000  # BATCH: of a step, over all processes


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--losses", help="file to which rank 0 appends step, loss and number of ranks")
    return parser.parse_args()


def join():
    """Joins the processes of the step into one JAX program."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
                                   int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    return NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))


class Tree:
    """A tree of arrays that is equal on all processes, as a part of the state: JAX's arrays cannot change in
    place."""

    def __init__(self, tree, sharding):
        self._sharding = sharding
        self.load_state_dict(tree)

    def state_dict(self):
        return jax.device_get(self.tree)

    def load_state_dict(self, saved):
        self.tree = jax.tree.map(lambda one: jax.make_array_from_process_local_data(self._sharding, np.asarray(one)), saved)


def initial():
    key, params = jax.random.key(1), []
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        key, mine = jax.random.split(key)
        params.append({"w": jax.random.normal(mine, (inputs, outputs)) * inputs ** -0.5, "b": jnp.zeros(outputs)})
    return params, jax.tree.map(jnp.zeros_like, params)  # and the momentum


def loss_of(params, x, y, key):
    hidden = jax.nn.relu(x @ params[0]["w"] + params[0]["b"])
    hidden = jnp.where(jax.random.bernoulli(key, 0.9, hidden.shape), hidden / 0.9, 0.0)
    scores = jax.nn.log_softmax(hidden @ params[1]["w"] + params[1]["b"])
    return -jnp.take_along_axis(scores, y[:, None], 1).mean()  # over the whole batch, on all processes


@jax.jit
def update(params, momentum, x, y, step):
    # Random numbers are also drawn for the whole batch: the same at every number of processes.
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y, jax.random.fold_in(jax.random.key(2), step))
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    return jax.tree.map(lambda p, m: p - 0.05 * m, params, momentum), momentum, loss


def main():
    options = parse()
    everywhere, shared_out = join()
    data = np.random.default_rng(3)
    images = data.standard_normal((SAMPLES, WIDTHS[0]), np.float32)
    labels = (images @ data.standard_normal((WIDTHS[0], WIDTHS[-1]), np.float32)).argmax(1)
    params, momentum = (Tree(tree, everywhere) for tree in initial())
    with ringrt.Run({"params": params, "momentum": momentum}, steps=options.steps, global_batch=BATCH) as run:  # 2: restores
        while run.step():  # 3: the step boundary
            share = run.batch()  # 4: this process's samples
            mine = share.samples_seen + share.first + np.arange(share.count)
            epochs, places = np.divmod(mine, SAMPLES)
            rows = np.array([np.random.default_rng(int(e)).permutation(SAMPLES)[p] for e, p in zip(epochs, places)])
            x, y = (jax.make_array_from_process_local_data(shared_out, whole[rows]) for whole in (images, labels))
            params.tree, momentum.tree, loss = update(params.tree, momentum.tree, x, y, run.steps_done)
            run.loss(float(loss))
            if options.losses and run.rank == 0:
                with open(options.losses, "a", encoding="ascii") as file:
                    print(run.steps_done, repr(float(loss)), run.size, file=file)
    if int(os.environ.get("RANK", "0")) == 0:
        print(f"finished: {options.steps} steps")


if __name__ == "__main__":
    main()
