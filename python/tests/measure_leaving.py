# SPDX-License-Identifier: BSD-3-Clause
"""The step boundary from Python, and a PyTorch job's way out of a resize: signal, requeue asked, SIGTERM, gone.
`measure_leaving.py [RANKS [ROUNDS]]` with the library of RINGRT_LIBRARY; medians, and the worst."""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

HERE = os.path.abspath(__file__)
STEPS = 3000


def boundary():
    """One rank: how long step() takes where nothing is asked. The ranks meet before each, as an exchange would make them."""
    sys.path.insert(0, support.PACKAGE)
    import ringrt
    handle, times = ringrt.Handle(), []
    for step in range(STEPS):
        handle.barrier()
        begun = time.perf_counter()
        handle.step(step + 1)
        times.append(time.perf_counter() - begun)
    handle.finalize()
    if handle.rank == 0:
        kept = sorted(times[STEPS // 10:])
        print(f"boundary us: median {statistics.median(kept) * 1e6:.0f}, lowest tenth {kept[len(kept) // 10] * 1e6:.0f}, "
              f"highest tenth {kept[-len(kept) // 10] * 1e6:.0f}")


def leave(ranks):
    """(signal to requeue asked, SIGTERM to all gone), seconds; the training is that of test_malleable.py."""
    job = support.Job(os.path.join(os.path.dirname(HERE), "train_torch.py"), "distributed", 0.01, 0, 30,
                      environment={"END_IN_ORDER": "1"})
    try:
        with open(job.path("scontrol"), "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\ncd {job.directory}\n[ $1 = requeue ] || exit 0\ndate +%s.%N >asked\nsleep 0.05\n"
                         "date +%s.%N >ended\nkill -TERM $(ls pids)\n")
        job.start(ranks)
        job.wait_for("steps", lambda: all(job.text(f"seen.0.{rank}").count("\n") > 5 for rank in range(ranks)))
        begun = time.time()
        job.ask()
        for one in job.ranks:
            one.wait()  # without a limit: one with a limit sleeps between its looks
        gone = time.time()
        return float(job.text("asked")) - begun, gone - float(job.text("ended"))
    finally:
        job.close()


def main():
    if sys.argv[1:] == ["boundary"]:
        return boundary()
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    job = support.Job(HERE, "boundary")
    job.start(ranks)
    job.wait()
    print(job.text("out.0.0"), end="")
    job.close()
    asked, gone = zip(*(leave(ranks) for _ in range(rounds)))
    for what, times in (("signal to requeue asked", asked), ("SIGTERM to all gone", gone)):
        print(f"{what} ms: median {statistics.median(times) * 1e3:.0f}, worst {max(times) * 1e3:.0f}")


if __name__ == "__main__":
    main()
