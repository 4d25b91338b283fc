# SPDX-License-Identifier: BSD-3-Clause
# A site that gives each GPU a quarter of its node's CPUs and memory (DefCpuPerGPU, DefMemPerGPU). Two malleable
# jobs have a node each. A rigid job of one GPU that needs three quarters of a node's CPUs, or of its memory,
# gets three GPUs back of one of them, and not two.
second_cluster --nodes 2 --conf SelectTypeParameters=CR_Core_Memory --conf DefCpuPerGPU=4 --conf DefMemPerGPU=4096
user=nobody
[ "$(timeout 10 scontrol -o show node n1 | grep -o 'CPUTot=[0-9]* \|RealMemory=[0-9]* ' | tr -d '\n')" = "CPUTot=16 RealMemory=16384 " ] ||
    fail "other nodes than expected"
held() { timeout 10 squeue -h -t R -n defaults1,defaults2 -o '%C %i' | awk '{ n += $1 } END { print n + 0 }'; }
holds() { [ "$(held)" = "$1" ] && is_state "$first" RUNNING && is_state "$second" RUNNING; }
for name in defaults1 defaults2; do
    start_job $name --malleable=1:4 -- 100000 100
    wait_for 60 "four GPUs for $name" runs_with "$job" 4
    [ "${first:-}" ] && second=$job || first=$job
done
holds 32 || fail "they have $(held) CPUs"
for needs in --cpus-per-gpu=12 --mem-per-gpu=12288; do
    guest=$(as_user timeout 20 sbatch --parsable -o /dev/null --gpus=1 -N1 "$needs" --wrap 'sleep 300') || fail "sbatch refused $needs"
    wait_for 40 "start of a job with $needs" is_state "$guest" RUNNING
    wait_for 40 "both malleable jobs beside it" holds 20
    scancel "$guest"
    wait_for 120 "four GPUs for both again" holds 32
done
check_steps
