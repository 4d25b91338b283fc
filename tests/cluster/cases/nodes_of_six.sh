# SPDX-License-Identifier: BSD-3-Clause
# Four nodes of six GPUs: a job over two nodes has four on each. It gets there although others hold two GPUs of every
# node, and small jobs start on what it leaves.
# seconds: 240
user=nobody
second_cluster --gpus 6

guest=$(rigid 8 300 -N4 --gpus-per-node=2)
wait_for 60 "start of a rigid job on two GPUs of each node" is_state "$guest" RUNNING
start_job six --malleable=1:8 -- 100000 100
wait_for 60 "8 GPUs beside it" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
scancel "$guest"
for node in $(scontrol show hostnames "$(timeout 10 squeue -h -j "$job" -o %N)"); do
    guest=$(rigid 2 300 -N1 -w "$node")
    wait_for 60 "start of a rigid job on $node" is_state "$guest" RUNNING
done
runs_with "$job" 8 || fail "it was resized for jobs that fit beside it"
check_steps
scancel_all
wait_for 40 "end of all" no_jobs

# Four jobs with a MIN of 6, and four nodes: no job grows before each has its MIN.
guest=$(rigid 24 300 -N4 --gpus-per-node=6)
wait_for 60 "start of a rigid job on all nodes" is_state "$guest" RUNNING
jobs=()
for i in 1 2 3 4; do
    start_job "six$i" --malleable=6:12 -- 100000 100
    jobs+=("$job")
done
scancel "$guest"
for job in "${jobs[@]}"; do wait_for 60 "a node for each" runs_with "$job" 6; done
