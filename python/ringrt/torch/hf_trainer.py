# SPDX-License-Identifier: BSD-3-Clause
"""The Hugging Face Trainer: makes train() of an unmodified script malleable. There is no entry point, so train()
is wrapped after the import of transformers.trainer. Inside it, only the Trainer's own methods and a callback
are used. The step boundary is on_step_begin: by then, everything of the previous step is done, including its
evaluation, logging and saving. hf_train.py has the run; hf_live.py resizes it in place."""
from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Optional

from ..handle import ranks_from_environment
from ..hooks import warn
from . import live
from .course import Declined, end_extension
from .hf_train import Train

_used = False  # only the first train() of a program is malleable


def adapt(module: ModuleType) -> None:
    train = module.Trainer.train
    if hasattr(train, "_ringrt"):
        return

    @functools.wraps(train)
    def malleable_train(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        run: Optional[Train] = None
        try:
            run = _open(self, module)
        except Exception as error:
            warn(error)
            end_extension()
        if run is None:
            return train(self, resume_from_checkpoint, *args, **kwargs)
        return run.train(lambda directory: train(self, directory or resume_from_checkpoint, *args, **kwargs))

    malleable_train._ringrt = True  # type: ignore[attr-defined]
    module.Trainer.train = malleable_train


def _open(trainer: Any, module: ModuleType) -> "Optional[Train]":
    global _used
    if _used:
        return None
    args = trainer.args
    for name in ("deepspeed", "fsdp", "auto_find_batch_size", "ignore_data_skip", "group_by_length"):
        if getattr(args, name, None):
            raise Declined(f"TrainingArguments has {name}")
    if args.n_gpu > 1:
        raise Declined("one process drives several GPUs")
    ranks = ranks_from_environment().get("size", 1)
    if args.world_size != ranks:
        raise Declined(f"the Trainer has {args.world_size} ranks, the job step has {ranks}")
    why = None
    if live.is_asked():
        from . import hf_live

        why = hf_live.why_not(trainer, module)
        if why is None:
            _used = True
            return hf_live.InPlace(trainer, module)
        live.decline(why, args.process_index == 0)
    _used = True
    return Train(trainer, module)
