# SPDX-License-Identifier: BSD-3-Clause
"""submitit itself saves and requeues, on rank 0 and on its own signal (--malleable-signal=USR2). Its other ranks
ignore SIGTERM and stay until Slurm kills them, KillWait (30 s) later. Here they exit on SIGTERM if they have
received that signal."""
from __future__ import annotations

import functools
import os
import signal
from types import ModuleType


def adapt(module: ModuleType) -> None:
    handler = module.SignalHandler
    save, bypass = handler.checkpoint_and_try_requeue, handler.bypass

    @functools.wraps(save)
    def noted_save(self, signum, frame=None):
        self._ringrt_asked = True
        return save(self, signum, frame)

    @functools.wraps(bypass)
    def leaving_bypass(self, signum, frame=None):
        if signum == signal.SIGTERM and getattr(self, "_ringrt_asked", False) and self.env.global_rank != 0:
            os._exit(0)  # the job was requeued; rank 0 has saved
        return bypass(self, signum, frame)

    handler.checkpoint_and_try_requeue, handler.bypass = noted_save, leaving_bypass
