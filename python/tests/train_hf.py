# SPDX-License-Identifier: BSD-3-Clause
"""An ordinary script of the Hugging Face Trainer, with not a word of ringrt. Each rank writes down which samples
it has trained with."""
import os
import sys
import time

import torch
import transformers
from torch.utils.data import Dataset

EPOCHS, SAMPLES, BATCH = 3, 203, 4


class Noted(Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(3)
        self.x = torch.randn(SAMPLES, 16, generator=generator, dtype=torch.float64)
        self.y = self.x @ torch.randn(16, 1, generator=generator, dtype=torch.float64)

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        noisy = self.x[index] + 0.01 * torch.randn(16, dtype=torch.float64)
        return {"index": index, "x": noisy, "y": self.y[index]}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.Tanh(), torch.nn.Dropout(0.2),
                                       torch.nn.Linear(24, 1)).double()

    def forward(self, index, x, y):
        out = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(out, y), "out": out}


class Noting(transformers.Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        if model.training:
            print(int(self.state.epoch or 0), self.state.global_step, *inputs["index"].tolist(), file=self.notes)
            time.sleep(self.pause_s)
        return super().compute_loss(model, inputs, *args, **kwargs)


def main(pause_s, workers):
    args = transformers.TrainingArguments(
        output_dir=os.path.join(os.environ["FOLDER"], "out"), num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH,
        learning_rate=1e-2, lr_scheduler_type="cosine", use_cpu=True, save_strategy="no", report_to=[], seed=7,
        disable_tqdm=True, remove_unused_columns=False, eval_strategy="epoch", label_names=["y"],
        dataloader_num_workers=workers)
    torch.manual_seed(7)
    model = Net()
    trainer = Noting(model=model, args=args, train_dataset=Noted(), eval_dataset=Noted())
    run = os.environ.get("SLURM_RESTART_COUNT", "0")
    trainer.notes = open(os.path.join(os.environ["FOLDER"], f"seen.{run}.{args.process_index}"), "w", buffering=1,
                         encoding="ascii")
    trainer.pause_s = pause_s
    trainer.train()
    if args.process_index == 0:
        torch.save({"net": model.state_dict(), "opt": trainer.optimizer.optimizer.state_dict(),
                    "sched": trainer.lr_scheduler.state_dict(), "steps": trainer.state.global_step,
                    "validated": [one["step"] for one in trainer.state.log_history if "eval_loss" in one],
                    "epochs": trainer.state.epoch}, os.path.join(os.environ["FOLDER"], "result"))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
