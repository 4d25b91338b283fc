# SPDX-License-Identifier: BSD-3-Clause
"""The training of test_run: ringrt.Run without torch; each step adds one to every number."""
import os
import sys
import time

import ringrt


class Counter:
    """Stands for an optimizer."""

    value = 0

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, saved):
        self.value = saved["value"]


def main(steps, fails):
    counter, log, bag = Counter(), [], {"rate": 1.0}
    with ringrt.Run({"counter": counter, "log": log, "bag": bag}, steps=steps, global_batch=12) as run:
        assert counter.value == run.steps_done == len(log), (counter.value, run.steps_done, len(log))
        share = run.batch()
        assert share.total == 12 and share.count == 12 // run.size
        if fails:
            bag["function"] = lambda: 0  # nothing that pickle takes
        while run.step():
            counter.value += 1
            log.append(run.size)
            bag["rate"] *= 0.5
            run.loss(1.0 / counter.value)
            time.sleep(0.005)
            with open(os.path.join(os.environ["DIRECTORY"], f"step.{run.rank}"), "w", encoding="ascii") as file:
                file.write(str(counter.value))
    if os.environ["RANK"] == "0":
        print("finished", counter.value, *log)


if __name__ == "__main__":
    main(int(sys.argv[1]), len(sys.argv) > 2)
