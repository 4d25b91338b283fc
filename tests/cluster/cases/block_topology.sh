# SPDX-License-Identifier: BSD-3-Clause
# Slurm's block topology (24.05): two blocks of two nodes. A malleable job grows over nodes, blocks and all four
# nodes, and gives GPUs back for a rigid job that asks for a segment (one block). --segment itself is refused.
sbatch --segment=2 --version >/dev/null 2>&1 || skip "this Slurm has no block topology"
printf 'BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n' >"$work/topology.conf"
second_cluster --conf TopologyPlugin=topology/block --file "$work/topology.conf"
scontrol show topology | grep -q 'BlockName=b2' || fail "no blocks: $(scontrol show topology)"
timeout 20 sbatch --malleable=1:8 --segment=2 --wrap true >"$work/said" 2>&1 && fail "--segment was accepted"
grep -q 'leave out --segment=2' "$work/said" || fail "sbatch said $(cat "$work/said")"
guest=$(rigid 4 600 -N1 -w n3 --exclusive)
wait_for 30 "start of a rigid job" is_state "$guest" RUNNING
start_job blocks --malleable=1:16 -- 100000 100
wait_for 60 "eight GPUs beside it" runs_with "$job" 8
scancel "$guest"
wait_for 60 "growth over all nodes" runs_with "$job" 16
guest=$(rigid 8 600 -N2 --gpus-per-node=4 --segment=2)
wait_for 60 "start of a rigid job on one block" is_state "$guest" RUNNING
nodes=$(timeout 5 squeue -h -j "$guest" -o %N)
[ "$nodes" = "n[1-2]" ] || [ "$nodes" = "n[3-4]" ] || fail "its nodes are $nodes"
wait_for 60 "eight GPUs left" runs_with "$job" 8
check_steps
