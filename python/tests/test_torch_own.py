# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own tests of torch.distributed on the backend "ringrt", on CPUs: DistributedTest, as torch's wheel contains it.
Those of DistributedDataParallel for CPUs are among them. `test_torch_own.py [TEST...]` with torch 2.14.1 or newer."""
import importlib.util
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
os.environ.update(BACKEND="ringrt", WORLD_SIZE=os.environ.get("WORLD_SIZE", "3"))  # as PyTorch's CI runs Gloo's

import torch  # noqa: E402

import ringrt.torch  # noqa: E402,F401
import support  # noqa: E402

LACKS = support.torch_lacks_backends()
if LACKS or not importlib.util.find_spec("expecttest"):
    print("skipped:", LACKS or "torch.testing needs the package expecttest")
    sys.exit(0)
from torch.testing._internal import common_distributed, common_utils  # noqa: E402

REFUSED = {
    "send_recv": "the backend has no send and recv", "isend": "the backend has no send and recv",
    "irecv": "the backend has no send and recv", "monitored_barrier": "torch.distributed accepts only Gloo for it",
    "all_reduce_sparse": "the backend has no sparse tensors", "sparse_all_reduce": "the backend has no sparse tensors",
    "barrier_timeout": "the test expects the words of Gloo's message",
    "ddp_logging_data_cpu": "torch reports every backend in Python as \"custom\"",
}


def skip_if(condition, reason):
    """What PyTorch skips on any backend but MPI's and Gloo's, although this one has it too, is not skipped."""
    also = reason.startswith(("Only MPI supports", "Only Gloo", "Only gloo", "Only Nccl & Gloo", "Gloo-only", "GLOO", "get_future is")) or (
        reason.startswith("Test requires backend") and "gloo" in reason)
    return unittest.skipIf(condition and not also, reason)


common_utils.skip_but_pass_in_sandcastle_if = skip_if
common_utils.skip_but_pass_in_sandcastle = lambda reason: skip_if(True, reason)
for feature in ("ddp", "subgroup", "plugin"):
    common_distributed.DistTestCases.backend_feature[feature].add("ringrt")

from torch.testing._internal.distributed import distributed_test  # noqa: E402


class OwnTest(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        for part, reason in REFUSED.items():
            if part in self._testMethodName:
                self.skipTest(reason)
        # Forked, so that torch is imported once: nothing here has started a thread.
        self._start_processes(torch.multiprocessing.get_context("fork").Process)

    def run_test(self, test_name, parent_pipe):
        """In a rank."""
        if "accumulate_gradients_no_sync" in test_name:
            distributed_test.BACKEND = "gloo"  # the test makes a model on CPUs only for this name
        super().run_test(test_name, parent_pipe)


if __name__ == "__main__":
    unittest.main(verbosity=2)
