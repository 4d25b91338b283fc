# SPDX-License-Identifier: BSD-3-Clause
#
# seconds: 300
# An unmodified sweep by submitit's map_array. Each task of the array, including the last, grows from 1 GPU to
# 2 by submitit's own signal, save and requeue.
. "$here/torch.sh"
need_modules submitit
user=nobody top=$work/sweep
mkdir -p "$top/run"
own_port
cat >"$top/sweep.py" <<'END'
import os
import sys
import time

import submitit


class Training:
    def __init__(self):
        self.step = 0

    def __call__(self, index, folder):
        while self.step < 120:
            time.sleep(0.2)
            self.step += 1
            if os.environ["SLURM_PROCID"] == "0":
                with open(f"{folder}/log{index}", "a", encoding="ascii") as log:
                    print(os.environ["SLURM_NTASKS"], self.step, file=log)
        return self.step

    def checkpoint(self, index, folder):
        return submitit.helpers.DelayedSubmission(self, index, folder)


executor = submitit.AutoExecutor(folder=sys.argv[1] + "/jobs")
executor.update_parameters(nodes=1, tasks_per_node=1, gpus_per_node=1, timeout_min=30)
jobs = executor.map_array(Training(), [0, 1, 2], [sys.argv[1]] * 3)
print("results", *[job.result() for job in jobs])
END
chown -R "$user" "$top"
most=$(rigid 12 900 -N3)
wait_for 20 "start of the rigid job" is_state "$most" RUNNING
(cd "$top" && user_seconds=300 as_user env SBATCH_MALLEABLE=1:2 SBATCH_MALLEABLE_SIGNAL=USR2 "$python" sweep.py "$top/run") >"$top/said" 2>&1 &
submitter=$!
size_is() { [ "$(tail -n 1 "$top/run/log$1" | cut -d' ' -f1)" = "$2" ]; }
for i in 0 1 2; do wait_for 60 "steps of task $i on 1 GPU" size_is $i 1; done
timeout 10 scancel "$most"
for i in 0 1 2; do wait_for 60 "steps of task $i on 2 GPUs" size_is $i 2; done
wait $submitter || fail "the submitter: $(tail -n 3 "$top/said")"
grep -q '^results 120 120 120$' "$top/said" || fail "the results: $(tail -n 3 "$top/said")"
for i in 0 1 2; do
    # submitit saves between any two lines of the program: a step may be done twice, but none is skipped.
    awk '{ if ($2 > last + 1) bad = 1; if ($2 <= last) again++; last = $2 } END { exit bad || last != 120 || again > 1 }' "$top/run/log$i" ||
        fail "steps of task $i were lost"
done
