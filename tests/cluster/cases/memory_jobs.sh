# SPDX-License-Identifier: BSD-3-Clause
# At a site that allocates memory: a rigid job that needs memory gets back what a malleable job holds with its
# borrowed GPUs. The malleable job does not grow onto GPUs whose memory another job has.
second_cluster --nodes 2 --conf SelectTypeParameters=CR_Core_Memory --conf DefMemPerCPU=256
user=nobody
mb=$(timeout 10 scontrol -o show node n1 | grep -o 'RealMemory=[0-9]*' | cut -d= -f2)
submit() { as_user timeout 20 sbatch --parsable -o /dev/null "$@" --wrap 'sleep 300'; }
asked() { grep -c "\"job\":$job,\"event\":\"asked\"" "$dir/log/malleable_events.jsonl"; }

start_job memory_jobs --malleable=1:8 --mem-per-cpu=$((mb / 4)) -- 100000 100
wait_for 40 "start with 8 GPUs" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10

guest=$(submit -n1 --mem=$((mb / 2))) || fail "sbatch refused it"
wait_for 40 "start of the job with half a node's memory" is_state "$guest" RUNNING
wait_for 40 "the malleable job with 4 GPUs" runs_with "$job" 4
before=$(asked)

# The other node has four idle GPUs, and memory for two of them.
sleep 15
[ "$(asked)" = "$before" ] || fail "it was asked again"
runs_with "$job" 4 || fail "it has $(gpus_of "$job") GPUs"
scancel "$guest"
wait_for 90 "growth to 8 GPUs" runs_with "$job" 8
check_steps
