# SPDX-License-Identifier: BSD-3-Clause
# Rigid jobs that need CPUs, memory or whole nodes instead of GPUs get back what malleable jobs hold with
# borrowed GPUs. A job that could not start even then costs no job its GPUs.
user=nobody
cpus_of_node=$(timeout 10 scontrol -o show node n1 | grep -o 'CPUTot=[0-9]*' | cut -d= -f2)
per_gpu=$((cpus_of_node / 4)) # a job on all GPUs has all CPUs
submit() { as_user timeout 20 sbatch --parsable -o /dev/null "$@" --wrap 'sleep 300'; }
asked() { grep -c "\"job\":$job,\"event\":\"asked\"" "$dir/log/malleable_events.jsonl"; }

start_job cpu_jobs --malleable=1:16 --cpus-per-task="$per_gpu" -- 100000 100
wait_for 40 "start with 16 GPUs" runs_with "$job" 16
wait_for 20 "ten steps" has_steps 10

# ---- a job without GPUs, on a node that it names -------------------------------------------------------------------------------
guest=$(submit -n1 -c2 -w n4) || fail "sbatch refused it"
wait_for 40 "start of the job with two CPUs" is_state "$guest" RUNNING
wait_for 40 "the malleable job again" is_state "$job" RUNNING
scancel "$guest"
wait_for 90 "growth to 16 GPUs" runs_with "$job" 16

# ---- whole nodes ----------------------------------------------------------------------------------------
guest=$(submit -N2 --exclusive) || fail "sbatch refused it"
wait_for 40 "start of the job on two whole nodes" is_state "$guest" RUNNING
wait_for 40 "the malleable job again" is_state "$job" RUNNING
sleep 5
[ "$(gpus_of "$job")" -le 8 ] || fail "it has $(gpus_of "$job") GPUs beside two whole nodes"
before=$(asked)

# ---- too large, whatever is given back ---------------------------------------------------------------------
guest2=$(submit -N3 --ntasks-per-node=1 -c2) || fail "sbatch refused it"
sleep 8
is_state "$guest2" PENDING || fail "it runs"
[ "$(asked)" = "$before" ] || fail "a job was asked for one that could not start"
scancel "$guest" "$guest2"
wait_for 90 "growth to 16 GPUs" runs_with "$job" 16

# ---- GPUs are idle, but a job without GPUs has their CPUs -----------------------------------------------------
guest=$(submit -N2 --ntasks-per-node=1 -c "$cpus_of_node") || fail "sbatch refused it"
wait_for 40 "start of the job with two nodes' CPUs" is_state "$guest" RUNNING
wait_for 40 "the malleable job with 8 GPUs" runs_with "$job" 8
before=$(asked)
guest2=$(submit -N3 --gpus-per-node=2 -n3) || fail "sbatch refused it"
sleep 8
is_state "$guest2" PENDING || fail "it runs"
[ "$(asked)" = "$before" ] || fail "a job was asked for one that could not start"
scancel "$guest" "$guest2"
wait_for 90 "growth to 16 GPUs" runs_with "$job" 16
check_steps
