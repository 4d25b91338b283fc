# SPDX-License-Identifier: BSD-3-Clause
"""The package without torch: what it declares, how it fails, and Run through resizes."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

sys.path.insert(0, support.PACKAGE)
import ringrt  # noqa: E402
from ringrt import errors, library  # noqa: E402

HEADERS = [os.path.join(support.PACKAGE, "..", "libringrt", name)
           for name in ("ringrt_comm.h", "ringrt_job.h", "ringrt.h", "ringrt_live.h")]
TRAIN = os.path.join(support.PACKAGE, "tests", "train_run.py")


def has_library():
    try:
        return bool(library.library())
    except ringrt.LibraryNotFound:
        return False


def headers():
    """Their text without comments."""
    texts = []
    for header in HEADERS:
        with open(header, encoding="utf-8") as file:
            texts.append(re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S))
    return "\n".join(texts)


def fields_of(struct_end):
    """The names of a struct's fields, in their order."""
    body = re.search(r"\{([^{}]*)\}\s*" + struct_end + ";", headers()).group(1)
    return [re.sub(r".*[ *]|\[\d+\]", "", one.strip()) for line in body.split(";") if line.strip()
            for one in line.split(",")]


class DeclarationsTest(unittest.TestCase):
    def test_structs_are_as_in_the_header(self):
        self.assertEqual([name for name, _ in library.Config._fields_], fields_of("ringrt_config_t"))
        self.assertEqual([name for name, _ in library.CommConfig._fields_], fields_of("ringrt_comm_config_t"))
        self.assertEqual([name for name, _ in library.JobConfig._fields_], fields_of("ringrt_job_config_t"))
        self.assertEqual([name for name, _ in library.Speed._fields_], fields_of("ringrt_speed_t"))
        names = [name for name, _ in library.Share._fields_]
        self.assertEqual(["global" if name == "total" else name for name in names], fields_of("ringrt_batch_t"))

    def test_functions_have_as_many_arguments(self):
        text = headers()
        for name, (_, *arguments) in library.FUNCTIONS.items():
            found = re.search(rf"{name}\(([^)]*)\);", text)
            self.assertTrue(found, name)
            wanted = [] if found.group(1) == "void" else found.group(1).split(",")
            self.assertEqual(len(arguments), len(wanted), name)

    def test_actions_are_as_in_the_header(self):
        body = re.search(r"typedef enum ringrt_action \{(.*?)\}", headers(), re.S).group(1)
        self.assertEqual([f"RINGRT_{one.name}" for one in ringrt.Action], re.findall(r"(RINGRT_[A-Z_]+)", body))

    def test_every_status_has_an_exception(self):
        body = re.search(r"typedef enum ringrt_status \{(.*?)\}", headers(), re.S).group(1)
        names = re.findall(r"(RINGRT_[A-Z_]+)", body)
        for status, _ in list(enumerate(names))[2:]:
            self.assertIsNot(type(errors.error_of(status, "x")), ringrt.Error, names[status])


class WithoutLibraryTest(unittest.TestCase):
    def run_python(self, code, **environment):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": support.PACKAGE, **environment})

    def test_import_needs_no_library_and_no_torch(self):
        done = self.run_python("import sys, ringrt; assert 'torch' not in sys.modules and 'numpy' not in sys.modules",
                               RINGRT_LIBRARY="/nowhere.so")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_missing_library_is_one_line(self):
        done = self.run_python("import ringrt; ringrt.Run().__enter__()", RINGRT_LIBRARY="/nowhere.so")
        last = done.stderr.strip().splitlines()[-1]
        self.assertRegex(last, r"LibraryNotFound: libringrt.so is not found \(/nowhere.so: .*\): set RINGRT_LIBRARY")

    def test_another_library_is_refused(self):
        done = self.run_python("import ringrt; ringrt.Run().__enter__()", RINGRT_LIBRARY="libm.so.6")
        self.assertIn("libm.so.6 has no ringrt_version(): it is older than this package", done.stderr)

    def test_state_that_cannot_be_filled_is_refused(self):
        with self.assertRaisesRegex(TypeError, r"state\['rate'\] is a float"):
            ringrt.Run({"rate": 0.5})


@unittest.skipUnless(has_library(), "libringrt.so is not found: set RINGRT_LIBRARY")
class RunTest(unittest.TestCase):
    def job(self, *arguments, **environment):
        job = support.Job(TRAIN, *arguments, environment=environment)
        self.addCleanup(job.close)
        return job

    def test_library_errors_are_exceptions_with_its_line(self):
        with tempfile.TemporaryDirectory() as directory:
            handle = ringrt.Handle(checkpoint_dir=directory)
            with self.assertRaises(ringrt.InvalidArgument) as caught:
                handle.set_steps_left(1 << 63)
            self.assertEqual(str(caught.exception), "steps_left is larger than 2^63 - 1")
            with self.assertRaises(ringrt.InvalidArgument):
                ringrt.Handle(rank=3, size=2)
            with self.assertRaises(TypeError):
                ringrt.Handle(no_such_field=1)
            handle.finalize()

    def test_collectives_of_one_rank(self):
        with tempfile.TemporaryDirectory() as directory:
            handle = ringrt.Handle(checkpoint_dir=directory)
            numbers = (ctypes.c_float * 3)(1, 2, 3)
            handle.allreduce(ctypes.addressof(numbers), ctypes.addressof(numbers), 3, 0, 0)
            self.assertEqual(list(numbers), [1, 2, 3])
            memory = handle.alloc(100)
            handle.free(memory)
            handle.barrier()
            handle.finalize()

    def test_a_job_is_resized_without_losing_a_step(self):
        job = self.job(400)
        for size in (1, 4, 2):
            job.start(size)
            begun = [job.text(f"step.{rank}") for rank in range(size)]
            job.wait_for("step", lambda: all(job.text(f"step.{r}") not in ("", begun[r]) for r in range(size)))
            job.ask(size - 1)
            job.wait()
            self.assertNotIn("finished", job.outputs())  # what follows the `with` block is for the end
        job.start(1)
        job.wait()
        said = job.text("out.3.0").split()
        sizes = said[said.index("finished") + 2:]
        self.assertEqual((said[said.index("finished") + 1], len(sizes)), ("400", 400))
        self.assertEqual([s for i, s in enumerate(sizes) if i == 0 or s != sizes[i - 1]], ["1", "4", "2", "1"])
        self.assertEqual(job.text("calls").count("requeue"), 3)

    def test_what_cannot_be_resized_in_place_is_requeued(self):
        job = self.job(200, RINGRT_LIVE_RESIZE="1", RINGRT_EXTENDABLE="1")
        job.start(2)
        job.wait_for("step", lambda: job.text("step.0") and job.text("step.1"))
        job.ask()
        job.wait()
        job.start(1)
        job.wait()
        self.assertIn("finished 200", job.outputs())
        self.assertEqual(job.text("calls").count("requeue"), 1)
        self.assertNotIn("live=1", job.text("telemetry"))

    def test_a_state_that_cannot_be_saved_calls_the_resize_off(self):
        job = self.job(200, "fails")
        job.start(2)
        job.wait_for("step", lambda: job.text("step.0") and job.text("step.1"))
        job.ask()
        job.wait()
        self.assertIn("the program could not save: ", job.outputs())
        self.assertIn("resize called off, training continues with 2 GPUs", job.outputs())
        self.assertIn("finished 200", job.outputs())
        self.assertNotIn("requeue", job.text("calls"))


if __name__ == "__main__":
    unittest.main()
