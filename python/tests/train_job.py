# SPDX-License-Identifier: BSD-3-Clause
"""The training of test_job: ringrt.Job over a communicator, with checkpoints of its own, and no package but the
standard library's. Each step adds the squares of all samples' positions, so a sample that is lost or used twice changes
the result."""
import os
import pickle
import sys
import time
from array import array

import ringrt
from ringrt import Action

SAVED = os.path.join(os.environ["RINGRT_CHECKPOINT_DIR"], "own")


def save(job, comm, step, sums):
    """The outcome at this rank."""
    if comm.rank != 0:
        return None
    try:
        with open(SAVED + ".new", "wb") as file:
            pickle.dump((step, list(sums), job.progress()), file)
        os.replace(SAVED + ".new", SAVED)
        return None
    except OSError as failure:
        return failure


def restore(job, sums):
    try:
        with open(SAVED, "rb") as file:
            step, saved, progress = pickle.load(file)
    except FileNotFoundError:
        return 0
    sums[:] = array("d", saved)
    job.resumed(step, progress)
    return step


def train(job, comm, sums):
    """One step: this rank's samples. The state changes after the last collective only."""
    share = job.batch()
    mine = array("d", [0.0, share.count])
    for i in range(share.count):
        mine[0] += float((share.samples_seen + share.first + i) ** 2 % 1021)
    time.sleep(0.002)
    comm.sum(mine)
    for i, value in enumerate(mine):
        sums[i] += value


def share_state(comm, sums, sizes, root):
    """Joiners get both kinds: numbers in place, and a pickled object of any length."""
    if root >= 0:
        comm.copy(sums, root)
        sizes[:] = pickle.loads(comm.copy_bytes(pickle.dumps(sizes), root))


def main(steps, live):
    with ringrt.Communicator() as comm, ringrt.Job(comm, global_batch=30, live_resize=live, steps_total=steps) as job:
        run(comm, job, steps, live)


def run(comm, job, steps, live):
    sums, sizes = array("d", [0.0, 0.0]), []
    action, step = Action.RESIZE, 0
    if not job.is_extension:
        action, step = Action.CONTINUE, restore(job, sums)
    job.set_planned_speeds({1: 20.0, 2: 11.0})
    while action == Action.RESIZE or (step < steps and action != Action.LEAVE):
        try:
            if action == Action.RESIZE:
                comm, step, root = job.resize(comm)
                if comm is None:
                    break
                share_state(comm, sums, sizes, root)
                action = Action.CONTINUE
                continue
            train(job, comm, sums)
            step += 1
            sizes.append(comm.size)
            job.set_loss(1.0 / step)
            action = job.step(step)
            if action == Action.SAVE:
                action = job.saved(save(job, comm, step, sums))
        except (ringrt.PeerLost, ringrt.TimedOut):
            if not live:
                raise
            action = Action.RESIZE
        if action == Action.CONTINUE:
            with open(os.path.join(os.environ["DIRECTORY"], f"step.{os.environ['RANK']}"), "w", encoding="ascii") as file:
                file.write(f"{step} {comm.size}")
    left = action == Action.LEAVE
    print("left" if left else "finished", step, len(sizes), *sums, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(len(sys.argv) > 2))
