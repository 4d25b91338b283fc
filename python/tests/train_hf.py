# SPDX-License-Identifier: BSD-3-Clause
"""An ordinary script of the Hugging Face Trainer, with not a word of ringrt. Each rank writes down which samples
it has trained with. A file `break` slows it; a file `die` ends this rank in its next validation."""
import os
import signal
import sys
import time

import torch
import transformers
from torch.utils.data import Dataset

from pauses import slowed

EPOCHS, SAMPLES, BATCH = 3, 203, 4
DIRECTORY = os.environ["DIRECTORY"]


class Noted(Dataset):
    def __init__(self, label):
        self.label = label
        generator = torch.Generator().manual_seed(3)
        self.x = torch.randn(SAMPLES, 16, generator=generator, dtype=torch.float64)
        self.y = self.x @ torch.randn(16, 1, generator=generator, dtype=torch.float64)

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        noisy = self.x[index] + 0.01 * torch.randn(16, dtype=torch.float64)
        return {"index": index, "x": noisy, self.label: self.y[index]}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.Tanh(), torch.nn.Dropout(0.2),
                                       torch.nn.Linear(24, 1)).double()

    def forward(self, index, x, y):
        out = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(out, y), "out": out}


class Counting(Net):
    """Its loss is a sum, divided by the number of labels in the whole step, as a language model's."""

    def forward(self, index, x, labels, num_items_in_batch=None, **kwargs):
        out = self.net(x)
        total = torch.nn.functional.mse_loss(out, labels, reduction="sum")
        return {"loss": total / (len(x) if num_items_in_batch is None else num_items_in_batch), "out": out}


class Noting(transformers.Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        if model.training:
            print(int(self.state.epoch or 0), self.state.global_step, *inputs["index"].tolist(), file=self.notes)
            time.sleep(slowed(self.pause_s))
        elif os.path.exists(os.path.join(DIRECTORY, "die")):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().compute_loss(model, inputs, *args, **kwargs)


def main(pause_s, workers, epochs=EPOCHS, every=1, tokens=0, counts=0):
    label = "labels" if counts else "y"
    args = transformers.TrainingArguments(
        output_dir=os.path.join(DIRECTORY, "trainer"), num_train_epochs=epochs, per_device_train_batch_size=BATCH,
        learning_rate=1e-2, lr_scheduler_type="cosine", use_cpu=True, save_strategy="no", report_to=[], seed=7,
        disable_tqdm=True, remove_unused_columns=False, eval_strategy="epoch", label_names=[label],
        dataloader_num_workers=workers, gradient_accumulation_steps=every,
        include_num_input_tokens_seen="all" if tokens else "no")
    torch.manual_seed(7)
    model = Counting() if counts else Net()
    trainer = Noting(model=model, args=args, train_dataset=Noted(label), eval_dataset=Noted(label))
    run = os.environ.get("SLURM_RESTART_COUNT", "0")
    trainer.notes = open(os.path.join(DIRECTORY, f"seen.{run}.{args.process_index}"), "w", buffering=1,
                         encoding="ascii")
    trainer.pause_s = pause_s
    trainer.train()
    if args.process_index == 0:
        torch.save({"net": model.state_dict(), "opt": trainer.optimizer.optimizer.state_dict(),
                    "sched": trainer.lr_scheduler.state_dict(), "steps": trainer.state.global_step,
                    "validated": [one["step"] for one in trainer.state.log_history if "eval_loss" in one],
                    "epochs": trainer.state.epoch}, os.path.join(DIRECTORY, "result"))


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
