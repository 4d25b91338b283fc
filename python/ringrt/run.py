# SPDX-License-Identifier: BSD-3-Clause
"""The loop of a training job that can be resized."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Mapping, Optional, Type, Union

from .handle import Gather, Handle, HasHandle
from .leaving import Leave
from .library import Share
from .state import State


class Run(HasHandle):
    """A training loop whose job is requeued at another size, and continues from its checkpoint.

    .. code:: python

        with ringrt.Run(state, steps=10000) as run:
            while run.step():
                ...                         # one training step

    Entering the ``with`` block restores the state from the newest checkpoint. Each :meth:`step` is a step boundary:
    all ranks agree whether to save and whether to leave. When the job is resized, step() returns False, and the end
    of the block ends the program (SystemExit). So code after the block runs only when training is complete.

    A Run is not resized in place: after a loss the program would have to undo a step and send its state, which this
    loop has no place for. :class:`ringrt.Job` and ``ringrt.torch.malleable()`` can.

    Args:
        state: A State, or a mapping from which one is made.
        steps: The total number; None: until the program stops.
        gather: An all-gather of the program's own, through which the ranks meet.
        **fields: Fields of ringrt_config_t: checkpoint_dir, global_batch, seed, save_interval_s, …
    """

    def __init__(self, state: Union[State, Mapping[str, Any], None] = None, *,
                 steps: Optional[int] = None, gather: Optional[Gather] = None,
                 **fields: Any) -> None:
        self._state = state if isinstance(state, State) else State(state or {})
        self._steps = steps
        self._options = {"gather": gather, "steps_total": steps or 0, **fields}
        self._under_way = False  # whether a step is
        self.steps_done = 0  # over all runs of the job
        self.left = False  # the job was requeued: clean up and end

    def __enter__(self) -> "Run":
        self._handle = handle = Handle(**self._options)
        try:
            handle.set_saver(lambda directory, step: self._state.save(handle.rank, directory),
                             lambda directory, step: self._state.load(directory))
            self.steps_done = handle.restore() or 0
        except BaseException:
            self._close(aborted=True)
            raise
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], _value: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        if self._handle:
            self._close(aborted=kind is not None)
        if self.left and kind is None:
            raise Leave(0)

    def _close(self, aborted: bool) -> None:
        handle, self._handle = self.handle, None
        if aborted:
            handle.abort()  # the peers fail now, not at their timeout
        handle.finalize()

    def step(self) -> bool:
        """Ends the current step, if any. True: run another one."""
        if self._under_way and not self.left:
            self.steps_done += 1
            self.left = self.handle.step(self.steps_done)
        self._under_way = True
        return not self.left and (self._steps is None or self.steps_done < self._steps)

    def batch(self) -> Share:
        """This rank's samples of the step's global_batch."""
        return self.handle.batch()
