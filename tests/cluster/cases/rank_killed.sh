# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a rank outside a resize: the job fails as any job does, and the cluster continues.
start_job killed --malleable=1:4 -- 100000 100
wait_for 30 "start with 4 GPUs" runs_with "$job" 4
wait_for 20 "steps" has_steps 5
node=$(timeout 10 squeue -h -j "$job" -o %N)
mapfile -t rank < <(timeout 10 scontrol listpids "$job.0" "$node" | awk 'NR > 1 && $4 == 0 { print $1 }')
kill -KILL "${rank[@]}" || fail "no rank 0 on $node"
touch "$directory/done"
wait_for 30 "end of the job" is_state "$job" "FAILED CANCELLED"
wait_for 20 "word of its end" has_event "$job" ended
answers || fail "slurmctld does not answer"
