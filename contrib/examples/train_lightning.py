#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Lightning training, without a line for ringrt. With the Python package installed, it is malleable when
submitted as

    sbatch --malleable=1:8 --wrap 'srun python train_lightning.py'

`devices` and `num_nodes` may keep their values for one size. Without Slurm: python train_lightning.py."""
import argparse

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, TensorDataset


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Dropout(0.1),
                                       torch.nn.Linear(128, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        right = (self.net(x).argmax(1) == y).float().mean()
        self.log("right", right, prog_bar=True, sync_dist=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-3)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, self.trainer.max_epochs)
        return {"optimizer": opt, "lr_scheduler": sched}


def make_data(samples):
    """Random images, labelled by a random network."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(samples, 64, generator=generator)
    return TensorDataset(x, (x @ torch.randn(64, 10, generator=generator)).argmax(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=1003)
    parser.add_argument("--batch", type=int, default=8, help="of one GPU at the most GPUs")
    options = parser.parse_args()
    pl.seed_everything(0)
    train, validate = torch.utils.data.random_split(make_data(options.samples), [0.9, 0.1])
    trainer = pl.Trainer(max_epochs=options.epochs, accelerator="auto", devices="auto", strategy="ddp", logger=False)
    trainer.fit(Classifier(), DataLoader(train, options.batch, shuffle=True), DataLoader(validate, options.batch))


if __name__ == "__main__":
    main()
