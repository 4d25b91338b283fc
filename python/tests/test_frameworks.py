# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified scripts of Lightning and of the Hugging Face Trainer through resizes, with the package as pip
installs it (RINGRT_INSTALLED): frameworks find it by its entry points."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

INSTALLED = os.environ["RINGRT_INSTALLED"]
EPOCHS, SAMPLES, STEPS = 3, 203, 13  # of an epoch: 203 samples in steps of 16


def has(module):
    return importlib.util.find_spec(module) is not None


class FrameworkTest:
    script, arguments = "", ()

    def job(self, pause_s, **environment):
        job = support.Job(os.path.join(support.PACKAGE, "tests", self.script), pause_s, *self.arguments,
                          package=INSTALLED, environment=environment)
        self.addCleanup(job.close)
        return job

    def result(self, job):
        """After each sample was trained with once an epoch, and each step done once."""
        import torch

        seen = {}
        for name in os.listdir(job.directory):
            if name.startswith("seen."):
                for line in job.text(name).splitlines():
                    epoch, step, *samples = map(int, line.split())
                    seen.setdefault((step // STEPS, step), []).extend(samples)
                    self.assertEqual(epoch, step // STEPS, line)
        self.assertEqual(sorted(step for _, step in seen), list(range(EPOCHS * STEPS)))
        for epoch in range(EPOCHS):
            samples = sorted(i for (e, _), some in seen.items() if e == epoch for i in some)
            self.assertEqual(samples, list(range(SAMPLES)), f"epoch {epoch}: not each sample once")
        return torch.load(job.path("result"), weights_only=False)

    def compare(self, one, other):
        for name in ("steps", "sched", "validated", "epochs"):
            self.assertEqual(one[name], other[name], name)
        pairs = list(zip(one["net"].values(), other["net"].values()))
        for i, state in one["opt"]["state"].items():
            pairs += [(state[name], other["opt"]["state"][i][name]) for name in state]
        worst = max(float((a - b).abs().max() / (b.abs().max() + 1e-30)) for a, b in pairs)
        print(f"measured: {self.script}: at most {worst:.1e} from one size undisturbed", file=sys.stderr)
        self.assertLess(worst, 1e-9)

    def test_resizes_lose_no_step_and_no_sample(self):
        job = self.job(0.04)
        job.start(1)
        # Its last step of the first epoch is under way: it leaves between two epochs, with the validation done.
        job.wait_for("the epoch's last step", lambda: f"0 {STEPS - 1} " in job.text("seen.0.0"))
        job.ask()
        job.wait()
        self.assertNotIn(f"1 {STEPS} ", job.text("seen.0.0"))
        for size in (4, 2):
            job.start(size)
            names = [f"seen.{job.restart}.{rank}" for rank in range(size)]
            job.wait_for("steps", lambda: all(job.text(name).count("\n") >= 3 for name in names))
            job.ask(size - 1)
            job.wait()
        job.start(1)
        job.wait()
        resized = self.result(job)
        self.assertEqual(job.text("calls").count("requeue"), 3)
        self.assertNotIn("not malleable", job.outputs())
        fixed = self.job(0)
        fixed.start(1)
        fixed.wait()
        self.compare(resized, self.result(fixed))


@unittest.skipUnless(has("lightning"), "no lightning")
class LightningTest(FrameworkTest, unittest.TestCase):
    script, arguments = "train_lightning.py", (4, 0)  # Trainer(devices=4)

    def test_without_the_library_it_trains_as_ever(self):
        job = self.job(0, RINGRT_LIBRARY="/nowhere/libringrt.so")
        job.start(1)
        job.wait()
        self.assertEqual(job.outputs().count("ringrt: "), 1, job.outputs())
        self.assertIn("LibraryNotFound: libringrt.so is not found", job.outputs())
        self.assertTrue(os.path.exists(job.path("result")))


@unittest.skipUnless(has("transformers") and has("accelerate"), "no transformers and accelerate")
class TransformersTest(FrameworkTest, unittest.TestCase):
    script, arguments = "train_hf.py", (1,)  # with a DataLoader worker


SUBMITIT_RANK = """
import os, signal, types
from submitit.core import job_environment, utils
import torch
delayed = utils.DelayedSubmission(print)
delayed.set_timeout(60, 3)
handler = job_environment.SignalHandler(types.SimpleNamespace(global_rank=int(os.environ["RANK"])), None, delayed)
handler.bypass(signal.SIGTERM)
print("stays", flush=True)
if os.environ["RANK"] == "1":
    handler.checkpoint_and_try_requeue(signal.SIGUSR2)
else:
    handler._ringrt_asked = True
handler.bypass(signal.SIGTERM)
print("is still there", flush=True)
"""


@unittest.skipUnless(has("submitit"), "no submitit")
class SubmititTest(unittest.TestCase):
    """submitit's own handler, called as its signals call it."""

    def said_by(self, rank, **environment):
        done = subprocess.run([sys.executable, "-c", SUBMITIT_RANK], check=True, text=True, stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": INSTALLED, "RANK": rank, **environment})
        return [line for line in done.stdout.splitlines() if not line.startswith("submitit ")]

    def test_a_rank_that_saw_the_signal_leaves_at_sigterm(self):
        self.assertEqual(self.said_by("1", RINGRT_MALLEABLE="1:4"), ["stays"])
        self.assertEqual(self.said_by("0", RINGRT_MALLEABLE="1:4"), ["stays", "is still there"])

    def test_outside_malleable_jobs_submitit_is_as_it_was(self):
        self.assertEqual(self.said_by("1"), ["stays", "is still there"])


EXAMPLES = {
    "ddp.py": (["torch"], ["--epochs", "1", "--samples", "64"]),
    "train_lightning.py": (["lightning"], ["--epochs", "1", "--samples", "64"]),
    "train_hf.py": (["transformers", "accelerate"], ["--epochs", "1", "--samples", "64"]),
    "train_submitit.py": (["submitit"], ["--local", "--steps", "3"]),
}


class ExamplesTest(unittest.TestCase):
    def test_every_example_trains_without_slurm(self):
        directory = os.path.join(support.PACKAGE, "..", "contrib", "examples")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        environment.update(PYTHONPATH=INSTALLED, RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", LOCAL_RANK="0")
        with tempfile.TemporaryDirectory() as work:
            running = {
                name: subprocess.Popen([sys.executable, os.path.join(directory, name), *arguments], cwd=work, text=True,
                                       env={**environment, "MASTER_PORT": str(support.free_port())},
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                for name, (needs, arguments) in EXAMPLES.items() if all(map(has, needs))}
            for name, process in running.items():
                said = process.communicate()[0]
                self.assertEqual(process.returncode, 0, f"{name}: {said}")


class AutoloadTest(unittest.TestCase):
    def after_import(self, code, **environment):
        done = subprocess.run([sys.executable, "-c", f"import torch, sys; {code}"], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "PYTHONPATH": INSTALLED, **environment})
        return done.stdout

    def test_outside_malleable_jobs_import_torch_imports_nothing_of_ours(self):
        said = self.after_import("print('loaded', *sorted(m for m in sys.modules if m.startswith('ringrt')))")
        self.assertIn("loaded ringrt_autoload\n", said)

    def test_a_failure_in_the_adapter_does_not_reach_import_torch(self):
        with tempfile.TemporaryDirectory() as broken:
            with open(os.path.join(broken, "ringrt.py"), "w", encoding="ascii") as file:
                file.write("raise RuntimeError('broken\\nin two lines')\n")
            said = self.after_import("print('still here')", RINGRT_MALLEABLE="1:4",
                                     PYTHONPATH=os.pathsep.join([broken, INSTALLED]))
        self.assertIn("ringrt: RuntimeError: broken in two lines; this training is not malleable\nstill here", said)


if __name__ == "__main__":
    unittest.main()
