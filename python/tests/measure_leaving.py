# SPDX-License-Identifier: BSD-3-Clause
"""The step boundary from Python, and a PyTorch job's way out of a resize: signal, requeue asked, SIGTERM, gone. And, of as
many jobs, SIGKILL to gone: what the kernel takes for the processes' memory. No way out is shorter.
`measure_leaving.py [RANKS [ROUNDS [NICE]]]` with the library of RINGRT_LIBRARY; medians, and the worst. NICE: of the
ranks on their way out, and of what measures them; a negative one, as root, shows an idle machine on one that is not."""
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


def gone(job):
    for one in job.ranks:
        one.wait()  # without a limit: one with a limit sleeps between its looks
    return time.time()


def raise_priority(job, nice):
    for one in job.ranks:
        for thread in os.listdir(f"/proc/{one.pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), nice)
    os.setpriority(os.PRIO_PROCESS, 0, nice)


def leave(ranks, nice):
    """(signal to requeue asked, SIGTERM to all gone, SIGKILL to all gone), seconds; the training is that of
    test_malleable.py. SIGTERM comes 50 ms after the requeue was asked."""
    job = support.Job(os.path.join(os.path.dirname(HERE), "train_torch.py"), "distributed", 0.01, 0, 30)
    try:
        with open(job.path("scontrol"), "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\ncd {job.directory}\n[ $1 = requeue ] || exit 0\ndate +%s.%N >asked\nsleep 0.05\n"
                         "date +%s.%N >ended\nkill -TERM $(ls pids)\n")
        begun = []
        for run in range(2):
            job.start(ranks)
            job.wait_for("steps", lambda: all(job.text(f"seen.{job.restart}.{rank}").count("\n") > 5 for rank in range(ranks)))
            raise_priority(job, nice)
            begun.append(time.time())
            if run == 0:
                job.ask()
                left = gone(job)
                os.setpriority(os.PRIO_PROCESS, 0, 0)
                job.wait()
        for one in job.ranks:
            one.kill()
        return float(job.text("asked")) - begun[0], left - float(job.text("ended")), gone(job) - begun[1]
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        job.close()


def main():
    if sys.argv[1:] == ["boundary"]:
        return boundary()
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    nice = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    job = support.Job(HERE, "boundary")
    job.start(ranks)
    job.wait()
    print(job.text("out.0.0"), end="")
    job.close()
    times_of = zip(*(leave(ranks, nice) for _ in range(rounds)))
    for what, times in zip(("signal to requeue asked", "SIGTERM to all gone", "SIGKILL to all gone"), times_of):
        print(f"{what} ms: median {statistics.median(times) * 1e3:.0f}, worst {max(times) * 1e3:.0f} of {rounds}")
    print(f"load: {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
