# SPDX-License-Identifier: BSD-3-Clause
"""Which versions `versions` takes from what pip says, and what it leaves out of torch's requirements."""
import importlib.machinery
import importlib.util
import os
import unittest

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions")
_SPEC = importlib.util.spec_from_loader("versions", importlib.machinery.SourceFileLoader("versions", _PATH))
versions = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(versions)

METADATA = """Metadata-Version: 2.4
Name: torch
Requires-Dist: filelock
Requires-Dist: cuda-toolkit[cublas,cufile,nvtx]==13.2.2; platform_system == "Linux"
Requires-Dist: nvidia-cudnn-cu13==9.26.0.51; platform_system == "Linux"
Requires-Dist: nvidia-nccl-cu13==2.30.7; platform_system == "Linux"
Requires-Dist: triton~=3.9.0; platform_system == "Linux"
Requires-Dist: sympy>=1.13.3
"""


class VersionsTest(unittest.TestCase):
    def test_the_newest_of_each_minor_version_the_newest_first(self):
        listed = ["10.0.0", "9.10.1", "9.10.0", "9.9.2.post0", "9.9.2", "9.1.0"]
        self.assertEqual(versions.newest_of_minors(listed), ["10.0.0", "9.10.1", "9.9.2.post0", "9.1.0"])

    def test_what_torch_needs_on_gpus_is_taken_out_and_a_part_of_it_installed(self):
        kept, left = versions.split_metadata(METADATA)
        self.assertEqual(kept, "".join(line + "\n" for line in METADATA.splitlines()
                                       if line.split(": ")[0] != "Requires-Dist" or "filelock" in line or "sympy" in line))
        self.assertEqual(len(left), 4)
        self.assertEqual(versions.needed_with_toolkit(left), ['nvidia-nccl-cu13==2.30.7; platform_system == "Linux"',
                                                 'cuda-toolkit[cufile]==13.2.2; platform_system == "Linux"'])
        self.assertEqual(versions.split_metadata(kept), (kept, []))

    def test_the_reason_is_one_line(self):
        self.assertEqual(versions.why("WARNING: old\nERROR: No matching distribution\nERROR: more\n"), "No matching distribution")
        self.assertEqual(versions.why("Traceback\n  File x\nOSError: disk\n\n"), "OSError: disk")
        self.assertEqual(versions.why(""), "no output")

    def test_a_set_that_the_registry_lacks_is_skipped(self):
        minors = {name: ["2.0", "1.9"] for name in versions.PACKAGES}
        minors["submitit"] = ["1.5"]
        self.assertEqual(versions.run_set(1, minors, "/nowhere"),
                         (True, "set 1 # SKIP the registry has fewer minor versions of submitit", []))


if __name__ == "__main__":
    unittest.main()
