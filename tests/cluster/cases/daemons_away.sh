# SPDX-License-Identifier: BSD-3-Clause
# slurmctld is paused, and later munged is dead: the job keeps training, and is resized once they are back.
# (If slurmctld is paused for 20 s just after a requeue, stock Slurm may drain the nodes, "Kill task failed":
# on 22.05 without ringrt in 2 of 6 tries.)
start_job grows --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
wait_for 10 "steps" has_steps 5
pid=$("$cluster" daemon "$dir" pid slurmctld)
kill -STOP "$pid"
before=$(steps_done)
wait_for 30 "steps without slurmctld" has_steps $((before + 100))
kill -CONT "$pid"
wait_for 30 "answer from slurmctld" answers
guest=$(rigid 8 300 -N2)
wait_for 60 "8 GPUs after slurmctld stood still" runs_with "$job" 8
check_steps

"$cluster" daemon "$dir" kill munged
before=$(steps_done)
wait_for 20 "steps without munged" has_steps $((before + 50))
[ "$(starts)" = 2 ] || fail "the job was touched without munged"
"$cluster" daemon "$dir" start munged
wait_for 30 "answer from slurmctld" answers
timeout 10 scancel "$guest"
wait_for 90 "16 GPUs after munged was away" runs_with "$job" 16
[ "$("$cluster" daemon "$dir" pid slurmctld)" = "$pid" ] || fail "another slurmctld"
check_steps
