# SPDX-License-Identifier: BSD-3-Clause
"""The end of a rank that leaves, without the teardown of modules and C libraries, which takes long where torch is
loaded.

The program sees an ordinary SystemExit. If nothing catches it, the interpreter drops the frames and joins the threads.
Then the atexit callbacks run, the script's own objects are released, the files are flushed, and the process ends. The
interpreter ends as always if the program catches the exception and ends in another way, with `python -i`, and with
mpi4py, whose MPI_Finalize() is a part of that teardown."""
from __future__ import annotations

import _io
import atexit
import ctypes
import fcntl
import gc
import os
import stat
import sys
import threading
import traceback
from typing import Any, Callable

_NOT_FLUSHED = 120  # Python's own status if it cannot write its output
_begun = False


_CODE: Any = SystemExit.code


class Leave(SystemExit):
    @property
    def code(self) -> Any:
        code = _CODE.__get__(self)
        # Where no frame is left the interpreter itself asks, for the process's status.
        if sys._getframe().f_back is None and threading.current_thread() is threading.main_thread():
            _end_soon(code)
        return code

    @code.setter
    def code(self, code: Any) -> None:
        _CODE.__set__(self, code)


def _end_soon(code: Any) -> None:
    known = hasattr(atexit, "_ncallbacks") and hasattr(atexit, "_run_exitfuncs")  # CPython's own
    if known and (code is None or isinstance(code, int)) and "mpi4py.MPI" not in sys.modules:
        atexit.register(_end, code or 0, atexit._ncallbacks() + 1)


def _end(status: int, callbacks: int) -> None:
    """The newest callback, so the first that is called. It calls the others, as a child of multiprocessing does.
    `callbacks`: their number with this one. If a thread has changed it since, the interpreter ends as always."""
    global _begun
    if _begun or atexit._ncallbacks() != callbacks:
        return
    _begun = True
    try:
        _try(atexit, atexit._run_exitfuncs)
        # In the interpreter's end no daemon thread runs. Here one may, and find the script's names gone.
        threading.excepthook = lambda _: None
        _try(release, lambda: release(vars(sys.modules["__main__"])))
        _try(flush_files, flush_files)
        if not _flush_output():
            status = _NOT_FLUSHED
        ctypes.CDLL(None).fflush(None)
    finally:
        os._exit(status & 0xFF)


def release(names: "dict[str, Any]") -> None:
    """Releases the objects of a module in the order of the interpreter, so that their __del__ runs."""
    for is_private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (name[:1] == "_" and name[1:2] != "_") == is_private:
                names[name] = None


def flush_files() -> None:
    """Flushes Python's files that are still open."""
    if not _has_open_output():
        return
    kinds, found = set(), [_io._TextIOBase, _io._BufferedIOBase]
    while found:
        kind = found.pop()
        if kind not in kinds:
            kinds.add(kind)
            found += type.__subclasses__(kind)
    # Not isinstance(): the ABCs of io ask each object for its __class__, which may run code.
    files = [one for one in gc.get_objects() if type(one) in kinds and _is_writable(one)]
    _flush(files, _io._TextIOBase)  # fills the buffers below
    for file in files:
        if type(file).__module__ != "_io":  # as gzip's: close() writes their end
            _try(file, file.close)
    _flush(files, _io._BufferedIOBase)


def _flush(files: "list[Any]", kind: Any) -> None:
    for file in files:
        if isinstance(file, kind) and not file.closed and file is not sys.stdout:
            _try(file, file.flush)


def _is_writable(file: Any) -> bool:
    try:
        return not file.closed and file.writable()
    except Exception:  # detached, or not open yet
        return False


def _has_open_output() -> bool:
    """Whether a file may need a flush. To look for it among all objects takes long where torch is loaded."""
    pipes: "dict[int, int]" = {}
    try:
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and _is_output(int(name), pipes):
                return True
    except OSError:
        return True
    return any(ends == 1 for ends in pipes.values())


def _is_output(descriptor: int, pipes: "dict[int, int]") -> bool:
    """Whether it is a file that can be written. `pipes`: adds to the ends of each that are open here. One with both is
    used by C libraries and by the queues of multiprocessing, not through Python's files."""
    try:
        flags, about = fcntl.fcntl(descriptor, fcntl.F_GETFL), os.fstat(descriptor)
    except OSError:
        return False  # listdir's own
    writes = flags & os.O_ACCMODE != os.O_RDONLY
    if stat.S_ISFIFO(about.st_mode):
        pipes[about.st_ino] = pipes.get(about.st_ino, 0) + (1 if writes else 2)
        return False
    if stat.S_ISREG(about.st_mode):
        return writes and about.st_nlink > 0  # shared memory has no name any more
    return writes and os.isatty(descriptor)


def _flush_output() -> bool:
    done = True
    for output in {id(one): one for one in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)}.values():
        if output is not None and not getattr(output, "closed", False) and not _try(output, output.flush):
            done = done and output is not sys.stdout
    return done


def _try(what: Any, call: "Callable[[], Any]") -> bool:
    try:
        call()
        return True
    except BaseException:
        try:
            sys.stderr.write(f"Exception ignored in: {what!r}\n")
            traceback.print_exc()
        except BaseException:
            pass  # stderr is gone
        return False
