# SPDX-License-Identifier: BSD-3-Clause
# A rigid job without GPUs needs all CPUs of a node, and a malleable job's MIN holds some on every node. Stock
# Slurm would have packed the MINs on one node. So one of the jobs moves, and the others go on.
user=nobody
cpus_of_node=$(timeout 10 scontrol -o show node n1 | grep -o 'CPUTot=[0-9]*' | cut -d= -f2)
per_gpu=$((cpus_of_node / 4)) # a job on all GPUs of a node has its CPUs
asked() { grep -c '"event":"asked"' "$dir/log/malleable_events.jsonl"; }
submit() { as_user timeout 20 sbatch --parsable -o /dev/null "$@" --wrap 'sleep 300'; }
all_run() {
    local number
    for number in "${numbers[@]}"; do is_state "$number" RUNNING || return; done
}
numbers=() directories=()
for name in move1 move2 move3 move4; do
    start_job $name --malleable=1:4 --cpus-per-task="$per_gpu" -- 100000 100
    wait_for 60 "four GPUs for $name" runs_with "$job" 4
    wait_for 20 "ten steps" has_steps 10
    numbers+=("$job") directories+=("$directory")
done

guest=$(submit -N1 -n1 -c "$cpus_of_node") || fail "sbatch refused it"
wait_for 60 "start of the job with all CPUs of a node" is_state "$guest" RUNNING
wait_for 60 "all four again" all_run
nodes=$(squeue -h -o %N -j "$(IFS=,; echo "${numbers[*]}")" | sort -u | wc -l)
[ "$nodes" -le 3 ] || fail "the four jobs run on $nodes nodes beside it"

# Two more nodes, or three, and 16 CPUs more than a node has: nothing would help those.
before=$(asked)
guest2=$(submit -N4 --ntasks-per-node=1 -c "$cpus_of_node") || fail "sbatch refused it"
sleep 8
is_state "$guest2" PENDING || fail "it runs"
[ "$(asked)" = "$before" ] || fail "a job was asked for one that could not start"
scancel "$guest" "$guest2"

# The same for a job that needs one GPU with all CPUs of a node.
wait_for 60 "all four again" all_run
guest=$(submit -N1 -n1 -c "$cpus_of_node" --gpus=1) || fail "sbatch refused it"
wait_for 60 "start of the job with a GPU and all CPUs of a node" is_state "$guest" RUNNING
wait_for 60 "all four beside it" all_run
scancel "$guest"
for directory in "${directories[@]}"; do check_steps; done
