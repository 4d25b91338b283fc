# SPDX-License-Identifier: BSD-3-Clause
"""How a rank that leaves ends: what a program may rely on is done, only the interpreter's teardown is not."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

# A module that a program imports: its objects live until the teardown, which the test sees by that.
START = """
import atexit, os, sys, types
class Said:
    def __init__(self, line): self.line = line
    def __del__(self): print(self.line, flush=True)
sys.modules["imported"] = types.ModuleType("imported")
sys.modules["imported"].torn_down = Said("torn down")
"""
LEAVE = "from ringrt.leaving import Leave\n"


class EndTest(unittest.TestCase):
    def run_program(self, program, *options):
        """(status, what it printed in order, its error output)"""
        directory = tempfile.TemporaryDirectory(prefix="ringrt-python-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        path = os.path.join(self.directory, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(START + program)
        done = subprocess.run([sys.executable, *options, path], capture_output=True, text=True, check=False, timeout=120,
                              cwd=self.directory, env={**os.environ, "PYTHONPATH": support.PACKAGE}, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def content(self, name):
        with open(os.path.join(self.directory, name), "rb") as file:
            return file.read()

    def test_everything_but_the_teardown_is_done_in_its_order(self):
        status, said, errors = self.run_program("""
import contextlib, threading, time, weakref
atexit.register(print, "atexit before the import")
""" + LEAVE + """
atexit.register(print, "atexit after it")
class Thing: pass
thing, own = Thing(), Said("the script's own object")
weakref.finalize(thing, print, "finalize")
@contextlib.contextmanager
def block():
    try:
        yield
    finally:
        print("with")
def work():
    threading.main_thread().join()
    time.sleep(0.2)
    print("thread")
def main():
    local = Said("a local object")
    try:
        with block():
            threading.Thread(target=work).start()
            raise Leave(0)
    finally:
        atexit.register(print, "atexit of the end")
main()
print("not reached")
""")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(said, ["with", "a local object", "thread", "atexit of the end", "finalize", "atexit after it",
                                "atexit before the import", "the script's own object"])

    def test_open_files_are_complete(self):
        status, _, errors = self.run_program(LEAVE + """
import bz2, gzip, logging, subprocess, zipfile
held = sys.modules["imported"]
mine = open("mine", "w"); mine.write("text")
held.text = open("text", "w"); held.text.write("text")
held.binary = open("binary", "wb"); held.binary.write(b"binary")
held.gzip = gzip.open("gzip", "wt"); held.gzip.write("packed")
held.bz2 = bz2.open("bz2", "wb"); held.bz2.write(b"packed")
held.child = subprocess.Popen(["sh", "-c", "cat >piped"], stdin=subprocess.PIPE); held.child.stdin.write(b"piped")
zip = zipfile.ZipFile("zip", "w"); zip.writestr("member", "in it")
logging.basicConfig(filename="log"); logging.warning("logged")
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fputs(b"from C", ctypes.c_void_p(libc.fopen(b"c", b"w")))
raise Leave(0)
""")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual([self.content(name) for name in ("mine", "text", "binary", "c")],
                         [b"text", b"text", b"binary", b"from C"])
        self.assertIn(b"logged", self.content("log"))
        import bz2
        import gzip
        import time
        import zipfile
        self.assertEqual(gzip.decompress(self.content("gzip")), b"packed")
        self.assertEqual(bz2.decompress(self.content("bz2")), b"packed")
        self.assertEqual(zipfile.ZipFile(os.path.join(self.directory, "zip")).read("member"), b"in it")
        for _ in range(1000):  # the child has its end of file when the program is gone
            if self.content("piped"):
                break
            time.sleep(0.01)
        self.assertEqual(self.content("piped"), b"piped")

    def test_the_status_is_the_exceptions(self):
        for code, status in (("0", 0), ("3", 3), ("None", 0), ("-1", 255)):
            got, said, errors = self.run_program(LEAVE + f"print('unflushed')\nraise Leave({code})")
            self.assertEqual((got, said, errors), (status, ["unflushed"], ""))
        status, said, _ = self.run_program(LEAVE + "leave = Leave(0)\nleave.code = 4\nraise leave")
        self.assertEqual((status, said), (4, []))

    def test_output_that_cannot_be_written_is_a_failure(self):
        status, _, errors = self.run_program(LEAVE + "sys.stdout = open('/dev/full', 'w')\nprint('lost')\nraise Leave(0)")
        self.assertEqual(status, 120)
        self.assertIn("No space left", errors)

    def test_a_program_that_continues_ends_as_always(self):
        caught = LEAVE + "try:\n    raise Leave(0)\nexcept SystemExit as left:\n    assert left.code == 0 and left.args == (0,)\n"
        for rest, status, error in (("print('continued')", 0, ""), ("sys.exit(left.code)", 0, ""), ("sys.exit(5)", 5, ""),
                                    ("raise ValueError('another')", 1, "another")):
            got, said, errors = self.run_program(caught.replace("left.args == (0,)", "left.args == (0,)\n    kept = left") +
                                                 rest.replace("left", "kept"))
            self.assertEqual((got, said), (status, ["continued"] * ("continued" in rest) + ["torn down"]), rest)
            self.assertIn(error, errors)
        status, said, errors = self.run_program(LEAVE + "try:\n    raise Leave(0)\nfinally:\n    1 / 0")
        self.assertEqual((status, said), (1, ["torn down"]))
        self.assertIn("ZeroDivisionError", errors)

    def test_callbacks_that_a_thread_registers_in_the_end_run_once(self):
        status, said, _ = self.run_program(LEAVE + """
import threading
def work():
    threading.main_thread().join()
    atexit.register(print, "late")
threading.Thread(target=work).start()
atexit.register(print, "early")
raise Leave(0)
""")
        self.assertEqual((status, said), (0, ["late", "early", "torn down"]))

    def test_a_callback_that_fails_does_not_stop_the_others(self):
        status, said, errors = self.run_program("atexit.register(print, 'the other')\n" + LEAVE +
                                                "atexit.register(lambda: 1 / 0)\nraise Leave(2)")
        self.assertEqual((status, said), (2, ["the other"]))
        self.assertIn("ZeroDivisionError", errors)

    def test_children_of_multiprocessing_are_ended(self):
        status, said, errors = self.run_program(LEAVE + """
import multiprocessing, time
def stay(): time.sleep(60)
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    child = context.Process(target=stay, daemon=True)
    child.start()
    print(child.pid)
    raise Leave(0)
""")
        self.assertEqual((status, errors), (0, ""))
        self.assertFalse(os.path.exists(f"/proc/{said[0]}"))

    def test_mpi_is_finalized_by_the_interpreters_end(self):
        status, said, _ = self.run_program(LEAVE + "sys.modules['mpi4py.MPI'] = types.ModuleType('MPI')\nraise Leave(0)")
        self.assertEqual((status, said), (0, ["torn down"]))

    def test_an_inspecting_interpreter_stays(self):
        status, said, _ = self.run_program(LEAVE + "raise Leave(0)", "-i")
        self.assertEqual((status, said), (0, ["torn down"]))


TRAIN = """
import threading, time
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel
""" + "atexit.register(print, 'atexit before ringrt')\nimport ringrt.torch\n" + """
def path(name): return os.path.join(os.environ["DIRECTORY"], name + "." + os.environ["RANK"])
def work():
    threading.main_thread().join()
    print("thread")
def main(catches):
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    data = [torch.ones(1)] * 4000
    loader = DataLoader(data, 1, sampler=DistributedSampler(data), num_workers=1, persistent_workers=True)
    run = ringrt.torch.malleable(loader, model=model, opt=opt)
    threading.Thread(target=work).start()
    sys.modules["imported"].file = open(path("unclosed"), "w")
    sys.modules["imported"].loader = loader
    try:
        for epoch in run.epochs(90):
            for x in loader:
                opt.zero_grad(); model(x).sum().backward(); opt.step()
                sys.modules["imported"].file.write("x")
                with open(path("steps"), "a") as file: file.write("x")
                time.sleep(0.01)
                with open(path("worker"), "w") as file:
                    file.write(" ".join(str(worker.pid) for worker in loader._iterator._workers))
    except SystemExit:
        if not catches: raise
        print("continued")
    finally:
        print("finally")
if __name__ == "__main__":
    atexit.register(print, "atexit after ringrt")
    main(sys.argv[1:] == ["catches"])
"""


@unittest.skipIf(torch is None or not os.environ.get("RINGRT_LIBRARY"), "torch and RINGRT_LIBRARY are needed")
class TorchTest(unittest.TestCase):
    def left(self, *arguments):
        """The ranks' output, after a resize of two ranks."""
        directory = tempfile.TemporaryDirectory(prefix="ringrt-python-")
        self.addCleanup(directory.cleanup)
        program = os.path.join(directory.name, "train.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(START + TRAIN)
        job = support.Job(program, *arguments)
        self.addCleanup(job.close)
        job.start(2)
        job.wait_for("steps", lambda: all(len(job.text(f"steps.{rank}")) > 5 for rank in range(2)))
        job.ask()
        job.wait()
        for rank in range(2):
            self.assertEqual(job.text(f"unclosed.{rank}"), job.text(f"steps.{rank}"))
            self.assertTrue(job.text(f"worker.{rank}"))
            for pid in job.text(f"worker.{rank}").split():
                self.assertFalse(os.path.exists(f"/proc/{pid}"), f"rank {rank}: a DataLoader's worker stays")
        return [[line for line in job.text(f"out.0.{rank}").splitlines() if not line.startswith("ringrt: ")]
                for rank in range(2)]

    def test_a_rank_that_leaves(self):
        for said in self.left():
            self.assertEqual(said, ["finally", "thread", "atexit after ringrt", "atexit before ringrt"])

    def test_a_program_that_catches_it_continues(self):
        for said in self.left("catches"):
            self.assertEqual(said, ["continued", "finally", "thread", "atexit after ringrt", "atexit before ringrt", "torn down"])


if __name__ == "__main__":
    unittest.main()
