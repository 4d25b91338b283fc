# SPDX-License-Identifier: BSD-3-Clause
# 4 -> 2 -> 1 on one node: from Slurm 24.11 on, the CPUs required per node must be lowered as well.
user=nobody
blocker=$(rigid 12 300 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
start_job in_node --malleable=1:4 -- 100000 100
wait_for 30 "first run with 4 GPUs" runs_with "$job" 4
for left in 2 1; do
    wait_for 20 "progress" has_steps $(($(steps_done) + 5))
    guest=$(rigid $((left == 2 ? 2 : 1)) 300)
    wait_for 40 "run with $left GPUs" runs_with "$job" $left
    wait_for 20 "start of the rigid job" is_state "$guest" RUNNING
done
wait_for 20 "progress" has_steps $(($(steps_done) + 5))
check_steps
