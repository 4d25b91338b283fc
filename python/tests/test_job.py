# SPDX-License-Identifier: BSD-3-Clause
"""ringrt.Job without torch and NumPy: through requeues, and resized in place."""
import os
import re
import signal
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)
import ringrt  # noqa: E402
from ringrt import library  # noqa: E402

TRAIN = os.path.join(support.PACKAGE, "tests", "train_job.py")
BATCH = 30


def right(steps):
    """What the program prints: computed here, without ranks."""
    return f"{float(sum(i ** 2 % 1021 for i in range(steps * BATCH)))} {float(steps * BATCH)}"


def has_library():
    try:
        return bool(library.library())
    except ringrt.LibraryNotFound:
        return False


@unittest.skipUnless(has_library(), "libringrt.so is not found: set RINGRT_LIBRARY")
class JobTest(unittest.TestCase):
    def job(self, *arguments, **environment):
        job = support.Job(TRAIN, *arguments, environment=environment)
        os.mkdir(job.path("ckpt"))
        self.addCleanup(job.close)
        return job

    def await_size(self, job, size):
        """Until rank 0 makes a step with so many ranks."""
        job.wait_for(f"{size} ranks", lambda: job.text("step.0").endswith(f" {size}"))

    def test_requeued_with_checkpoints_of_its_own(self):
        job = self.job(600)
        for size in (1, 3, 2):
            job.start(size)
            self.await_size(job, size)
            job.ask(size - 1)
            job.wait()
            self.assertIn("left ", job.outputs())
        job.start(1)
        job.wait()
        self.assertIn(f" {right(600)}\n", job.text("out.3.0"))
        self.assertEqual(job.text("calls").count("requeue"), 3)

    def test_a_failed_save_calls_the_resize_off(self):
        job = self.job(300)
        os.mkdir(job.path("ckpt/own.new"))
        job.start(2)
        self.await_size(job, 2)
        job.ask()
        job.wait()
        self.assertIn("resize called off", job.outputs())
        self.assertIn(f"finished 300 300 {right(300)}\n", job.text("out.0.1"))

    def extend(self, job, number, size):
        os.mkdir(job.path(f"ext{number}"))
        ranks = job.spawn(size, "1:4", f"out.ext{number}", {
            "RINGRT_EXTENDS": "7", "SLURM_JOB_ID": str(7 + number), "DIRECTORY": job.path(f"ext{number}")})
        self.addCleanup(lambda: [(one.kill(), one.wait()) for one in ranks])
        return ranks

    def test_resized_in_place(self):
        job = self.job(3000, "live", RINGRT_LIVE_RESIZE="1")
        job.start(2)
        self.await_size(job, 2)
        first, second = self.extend(job, 1, 1), None
        self.await_size(job, 3)
        second = self.extend(job, 2, 2)
        self.await_size(job, 5)
        second[1].send_signal(signal.SIGURG)
        self.assertEqual([one.wait(support.FAILED_FOR) for one in second], [0, 0], job.outputs())
        self.await_size(job, 3)
        first[0].kill()
        self.await_size(job, 2)
        job.wait()
        for rank in (0, 1):
            self.assertIn(f"finished 3000 3000 {right(3000)}\n", job.text(f"out.0.{rank}"))
        left = next(line.split() for line in job.text("out.ext2.0").splitlines() if line.startswith("left "))
        self.assertEqual((left[1], " ".join(left[3:])), (left[2], right(int(left[1]))))
        self.assertNotIn("requeue", job.text("calls"))

    def test_without_live_resize_it_is_requeued(self):
        job = self.job(300, RINGRT_LIVE_RESIZE="1")
        job.start(2)
        self.await_size(job, 2)
        job.ask()
        job.wait()
        self.assertEqual(job.text("calls").count("requeue"), 1)


class HeaderTest(unittest.TestCase):
    """Python's numbers are those of the headers."""

    def enumerators(self, header, name):
        with open(os.path.join(support.PACKAGE, "..", "libringrt", header), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        body = re.search(r"typedef enum %s \{(.*?)\}" % name, text, re.S).group(1)
        return {one.split("=")[0].strip()[len("RINGRT_"):]: i for i, one in enumerate(body.split(","))}

    def test_enumerations(self):
        for kind, header, name in ((ringrt.Dtype, "ringrt_comm.h", "ringrt_dtype"), (ringrt.Op, "ringrt_comm.h", "ringrt_op"),
                                   (ringrt.Action, "ringrt_job.h", "ringrt_action")):
            self.assertEqual({one.name: int(one) for one in kind}, self.enumerators(header, name))

    def test_statuses(self):
        names = {"TIMEOUT": "TimedOut", "NO_MEMORY": "OutOfMemory", "SYSTEM_ERROR": "SystemFailure"}
        for name, number in self.enumerators("ringrt_comm.h", "ringrt_status").items():
            if name not in ("OK", "NOT_FOUND"):
                kind = getattr(ringrt, names.get(name, name.title().replace("_", "")))
                self.assertEqual(kind.status, number)

    def test_all_names_are_there(self):
        self.assertEqual([name for name in ringrt.__all__ if not hasattr(ringrt, name)], [])


@unittest.skipUnless(has_library(), "libringrt.so is not found: set RINGRT_LIBRARY")
class CommunicatorTest(unittest.TestCase):
    def setUp(self):
        self.comm = ringrt.Communicator(rank=0, size=1)
        self.addCleanup(self.comm.destroy)

    def test_one_rank(self):
        self.assertEqual((self.comm.rank, self.comm.size), (0, 1))
        data = bytearray(b"abc")
        self.comm.sum(data)
        self.assertEqual(data, b"abc")
        self.assertEqual(self.comm.copy_bytes(b"", 0), b"")

    def test_the_end_of_a_block_closes(self):
        with ringrt.Communicator(rank=0, size=1) as comm, ringrt.Job(comm) as job:
            self.assertEqual(job.step(1), ringrt.Action.CONTINUE)
        for closed in (comm.barrier, lambda: job.step(2)):
            with self.assertRaises(ringrt.InvalidArgument):
                closed()
        job.close()  # once more
        comm.destroy()
        self.assertEqual((comm.rank, comm.size), (-1, -1))

    def test_an_exception_in_a_block_closes_and_passes(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            with ringrt.Communicator(rank=0, size=1) as comm, ringrt.Job(comm) as job:
                raise KeyError("mine")
        for closed in (comm.barrier, lambda: job.step(1)):
            with self.assertRaises(ringrt.InvalidArgument):
                closed()

    def test_it_sums_integers_of_every_format(self):
        for kind in "bBiIlLqQ":
            data = memoryview(bytearray(b"\xff" * 16)).cast(kind)
            self.comm.sum(data)
            self.assertEqual(data.tobytes(), b"\xff" * 16)

    def test_what_it_cannot_sum_is_an_exception(self):
        with self.assertRaisesRegex(ValueError, "can be written"):
            self.comm.sum(b"abc")
        with self.assertRaisesRegex(TypeError, "no elements of format 'H'"):
            self.comm.sum(memoryview(bytearray(8)).cast("H"))
        with self.assertRaisesRegex(ValueError, "contiguous"):
            self.comm.sum(memoryview(bytearray(8))[::2])

    def test_progress_goes_into_the_programs_checkpoint(self):
        job = ringrt.Job(self.comm, global_batch=BATCH)
        self.addCleanup(job.close)
        self.assertEqual(job.step(1), ringrt.Action.CONTINUE)
        progress = job.progress()
        self.assertEqual(job.batch().samples_seen, BATCH)
        again = ringrt.Job(self.comm, global_batch=2 * BATCH)
        self.addCleanup(again.close)
        with self.assertRaises(ringrt.Corrupt):
            again.resumed(1, progress[:-1] + bytes([progress[-1] ^ 1]))
        with self.assertRaises(ringrt.Mismatch):
            again.resumed(2, progress)
        again.resumed(1, progress)
        self.assertEqual((again.batch().samples_seen, again.batch().total), (BATCH, 2 * BATCH))
        again.set_batch(7)
        self.assertEqual(again.batch().total, 7)

    def test_what_the_scheduler_learns(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "telemetry")
            with unittest.mock.patch.dict(os.environ, {"RINGRT_TELEMETRY_FILE": path, "SLURM_JOB_ID": "7"}):
                job = ringrt.Job(self.comm, global_batch=BATCH, telemetry_s=1)
                job.set_planned_speeds({1: 20.0, 2: 10.0})
                job.set_samples_left(700)
                for step in range(1, 10**6):
                    job.step(step)
                    time.sleep(0.001)
                    if os.path.exists(path):
                        break
                job.close()
            with open(path, encoding="ascii") as file:
                self.assertRegex(file.read(), r" left=(1\d|2[0-3]) .* plan=1:20,2:10\n")

    def test_wrong_fields_are_exceptions(self):
        with self.assertRaisesRegex(TypeError, "no field no_such_field"):
            ringrt.Job(self.comm, no_such_field=1)
        with self.assertRaises(ringrt.InvalidArgument):
            ringrt.Job(self.comm, steps_total=1, samples_total=1)


if __name__ == "__main__":
    unittest.main()
