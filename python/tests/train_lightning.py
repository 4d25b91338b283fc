# SPDX-License-Identifier: BSD-3-Clause
"""An ordinary Lightning script, with not a word of ringrt: its literals are those of the most GPUs. Each rank
writes down which samples it has trained with. A file `break` slows it; a file `die` ends this rank in its next
validation."""
import os
import signal
import sys
import time

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, Dataset

from pauses import slowed

EPOCHS, SAMPLES, BATCH = 3, 203, 4
DIRECTORY = os.environ["DIRECTORY"]


class Noted(Dataset):
    """Each sample says which it is; a random number stands for augmentation."""

    def __init__(self, samples=SAMPLES):
        generator = torch.Generator().manual_seed(3)
        self.x = torch.randn(samples, 16, generator=generator, dtype=torch.float64)
        self.y = self.x @ torch.randn(16, 1, generator=generator, dtype=torch.float64)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return index, self.x[index] + 0.01 * torch.randn(16, dtype=torch.float64), self.y[index]


class Net(pl.LightningModule):
    def __init__(self, pause_s):
        super().__init__()
        self.pause_s = pause_s
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.Tanh(), torch.nn.Dropout(0.2),
                                       torch.nn.Linear(24, 1)).double()
        self.validated, self.counts = [], []

    def setup(self, stage):
        run = os.environ.get("SLURM_RESTART_COUNT", "0")
        self.notes = open(os.path.join(DIRECTORY, f"seen.{run}.{self.global_rank}"), "w", buffering=1,
                          encoding="ascii")

    def training_step(self, batch, batch_idx):
        index, x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        print(self.current_epoch, self.global_step, *index.tolist(), file=self.notes)
        time.sleep(slowed(self.pause_s))
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        if os.path.exists(os.path.join(DIRECTORY, "die")):
            os.kill(os.getpid(), signal.SIGKILL)
        self.log("val", torch.nn.functional.mse_loss(self.net(batch[1]), batch[2]), sync_dist=True)
        self.log("count", float(len(batch[0])), reduce_fx="sum", sync_dist=True)

    def on_save_checkpoint(self, checkpoint):
        checkpoint["validated"] = self.validated, self.counts

    def on_load_checkpoint(self, checkpoint):
        self.validated, self.counts = checkpoint["validated"]

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            self.validated = [*self.validated, self.trainer.global_step]
            self.counts = [*self.counts, int(self.trainer.callback_metrics["count"])]

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-2)
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


def main(pause_s, devices, workers, epochs=EPOCHS, every=1, special=""):
    pl.seed_everything(7)
    model = Net(pause_s)
    options = {"strategy": "ddp"}
    if special == "callbacks":
        best = pl.callbacks.ModelCheckpoint(os.path.join(DIRECTORY, "best"), monitor="val", save_top_k=2)
        options = {"callbacks": [best, pl.callbacks.EarlyStopping("val", patience=1000)], "enable_checkpointing": True}
    elif special == "reload":
        options["reload_dataloaders_every_n_epochs"] = 1
    trainer = pl.Trainer(**{
        "max_epochs": epochs, "accelerator": "cpu", "devices": devices, "num_nodes": 1, "precision": "64-true",
        "gradient_clip_val": 1.0, "accumulate_grad_batches": every, "logger": False, "enable_checkpointing": False,
        "enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": DIRECTORY, **options})
    trainer.fit(model, DataLoader(Noted(), BATCH, shuffle=True, num_workers=workers), DataLoader(Noted(16), BATCH))
    if trainer.is_global_zero:
        torch.save({"net": model.state_dict(), "opt": trainer.optimizers[0].state_dict(), "steps": trainer.global_step,
                    "sched": trainer.lr_scheduler_configs[0].scheduler.state_dict(), "validated": model.validated,
                    "counts": model.counts, "epochs": trainer.current_epoch}, os.path.join(DIRECTORY, "result"))


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:6]), *sys.argv[6:])
