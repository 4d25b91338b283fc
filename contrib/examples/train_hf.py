#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A training with the Hugging Face Trainer, without a line for ringrt. With the Python package installed, it is
malleable when submitted as

    sbatch --malleable=1:8 --wrap 'srun python train_hf.py'

Without Slurm: python train_hf.py."""
import argparse

import torch
import transformers


class Pairs(torch.utils.data.Dataset):
    """Sums modulo 97, as sequences of three tokens, the last of which is to be predicted."""

    def __init__(self, samples):
        pairs = torch.randint(97, (samples, 2), generator=torch.Generator().manual_seed(1))
        self.tokens = torch.cat([pairs, pairs.sum(1, keepdim=True) % 97], 1)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=1003)
    parser.add_argument("--batch", type=int, default=8, help="of one GPU at the most GPUs")
    parser.add_argument("--output", default="hf_run", help="directory for the Trainer's own checkpoints")
    options = parser.parse_args()
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=97, n_positions=4, n_embd=32, n_layer=2,
                                                                 n_head=2, bos_token_id=0, eos_token_id=0))
    args = transformers.TrainingArguments(
        output_dir=options.output, num_train_epochs=options.epochs, per_device_train_batch_size=options.batch,
        learning_rate=1e-3, lr_scheduler_type="cosine", report_to=[], save_strategy="no", seed=0)
    transformers.Trainer(model=model, args=args, train_dataset=Pairs(options.samples)).train()


if __name__ == "__main__":
    main()
