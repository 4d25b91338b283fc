# SPDX-License-Identifier: BSD-3-Clause
# Nodes of 4 GPUs and 16 CPUs, and 8 CPUs per task: a node takes at most two tasks. A size that no node can
# satisfy costs a resize, never the job.
blocker=$(rigid 15 12)
start_job asked --malleable=1:4 --cpus-per-task=8 -- 500 100
wait_for 30 "first run on 1 GPU" runs_with "$job" 1
wait_for 60 "growth to 4 GPUs, on two nodes" runs_with "$job" 4
[ "$(timeout 10 scontrol -o show job "$job" | sed -n 's/.* NumNodes=\([0-9]*\) .*/\1/p')" = 2 ] ||
    fail "expected 2 nodes"
check_steps
clear_jobs

# A reservation of one node, which the controller does not see.
scontrol create reservation reservationname=one nodes=n1 users=root starttime=now duration=60 >/dev/null ||
    fail "no reservation"
trap 'clear_jobs; timeout 10 scontrol delete reservationname=one' EXIT
start_job reserved --malleable=1:8 --gpus=4 --reservation=one -- 300 100
wait_for 60 "run on one node's GPUs" is_state "$job" RUNNING
[ "$(gpus_of "$job")" -le 4 ] || fail "more GPUs than the reservation has"
has_event "$job" downsized || note "Slurm never said BadConstraints"
wait_for 20 "steps" has_steps 5
check_steps
