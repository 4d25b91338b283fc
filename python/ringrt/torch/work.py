# SPDX-License-Identifier: BSD-3-Clause
"""A process group's operations, run in the order in which they were started: by a thread, or by the caller if it
would only wait for the thread."""
from __future__ import annotations

import functools
import queue
import threading
from collections import deque
from typing import Any, Callable, Optional

import torch
import torch.distributed as dist

from ..errors import TimedOut


class Work(dist.Work):
    """Returned by torch's collectives. PyTorch passes on only wait() and get_future()."""

    def __init__(self, tensors: "list[torch.Tensor]") -> None:
        super().__init__()
        self._tensors = tensors
        self._error: Optional[BaseException] = None
        self._future: "Optional[torch.futures.Future[Any]]" = None
        self._mutex = threading.Lock()
        self._under_way = threading.Lock()  # held until the operation has ended
        self._under_way.acquire()

    def perform(self, operation: "Callable[[], None]") -> None:
        try:
            operation()
        except BaseException as error:
            self._error = error
        with self._mutex:
            self._under_way.release()
            future = self._future
        if future is not None:
            future.set_result(None)

    def _value(self, _: Any = None) -> "list[torch.Tensor]":
        if self._error is not None:
            raise self._error
        return self._tensors

    def wait(self, timeout: Any = None) -> bool:
        seconds = timeout.total_seconds() if timeout else 0
        if not self._under_way.acquire(timeout=seconds if seconds > 0 else -1):
            raise TimedOut(f"not over after {seconds:g} s")
        self._under_way.release()
        self._value()
        return True

    def get_future(self) -> "torch.futures.Future[Any]":
        # To PyTorch's C++, only an exception raised in a callback is an error; set_exception() is a result.
        with self._mutex:
            if self._future is None:
                self._future = torch.futures.Future()
                self._outcome = self._future.then(self._value)
                if not self._under_way.locked():
                    self._future.set_result(None)
            return self._outcome

    def result(self) -> "list[torch.Tensor]":
        self.wait()
        return self._tensors

    def is_completed(self) -> bool:
        return not self._under_way.locked()


class WorkQueue:
    def __init__(self, name: str) -> None:
        self._name = name
        self._mutex = threading.Lock()
        self._open = 0  # operations that the thread has not ended
        self._jobs: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._thread: Optional[threading.Thread] = None
        # Run before the next operation. A garbage collection may append at any moment, so it has no lock.
        self.before_next: "deque[Callable[[], None]]" = deque()

    def start(self, operation: "Callable[[], None]", tensors: "list[torch.Tensor]", in_background: bool) -> Work:
        work = Work(tensors)
        with self._mutex:
            if not in_background and self._open == 0:
                self._perform(work, operation)
                return work
            self._open += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._jobs.put((work, operation))
        return work

    def _perform(self, work: Work, operation: "Callable[[], None]") -> None:
        while self.before_next:
            self.before_next.popleft()()
        work.perform(operation)

    def _run(self) -> None:
        while True:
            work, operation = self._jobs.get()
            # Counted before the end is visible: its callbacks may start the next operation.
            self._perform(work, functools.partial(self._end, operation))

    def _end(self, operation: "Callable[[], None]") -> None:
        try:
            operation()
        finally:
            with self._mutex:
                self._open -= 1
