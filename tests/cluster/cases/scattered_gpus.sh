# SPDX-License-Identifier: BSD-3-Clause
# A job wants all GPUs of one node, and that many are free, but spread over several nodes: it waits. Slurm
# 26.05 (stock too) starts `sbatch --nodes=1 --gpus=4` on a node that has two free, so the controller also
# requests the share per node, at every size.
rigid_on() { # NODE: prints the job's number
    rigid 2 100 --nodelist="$1"
}
for node in 1 2 3 4; do first[node]=$(rigid_on n$node) second[node]=$(rigid_on n$node); done
all_run() { [ "$(timeout 5 squeue -h -t R -o %i | wc -l)" = 8 ]; }
wait_for 30 "eight rigid jobs" all_run
allocated() { timeout 10 scontrol -o -d show job "$1" | sed -n 's/.* GRES=gpu[^ ]*:\([0-9]*\)(IDX.*/\1/p'; }
share_of_node() { timeout 10 scontrol -o show job "$1" | sed -n 's/.* TresPerNode=[^ ]*gpu[^ ]*:\([0-9]*\).*/\1/p'; }

start_job whole --malleable=4:8 -- 400 100
wait_for 30 "a size that Slurm knows" intent_is "$job" released
scancel "${first[1]}" "${first[2]}"
sleep 4
is_state "$job" PENDING || fail "runs with $(allocated "$job") GPUs instead of 4"
[ "$(share_of_node "$job")" = 4 ] || fail "expected 4 GPUs of the node, got \"$(share_of_node "$job")\""
scancel "${second[1]}"
wait_for 30 "run on one node" runs_with "$job" 4
[ "$(allocated "$job")" = 4 ] || fail "expected 4 GPUs, got $(allocated "$job")"
wait_for 20 "steps" has_steps 5

scancel "${second[2]}" "${first[3]}" "${second[3]}" "${first[4]}" "${second[4]}"
wait_for 60 "growth to 8 GPUs, on two nodes" runs_with "$job" 8
[ "$(share_of_node "$job")" = 4 ] || fail "asks for $(share_of_node "$job") GPUs of each node"
check_steps
