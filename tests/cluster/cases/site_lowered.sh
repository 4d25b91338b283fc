# SPDX-License-Identifier: BSD-3-Clause
# Limits of time that are lowered while a job runs, below what it requested: the MaxTime of its partition, the
# MaxWall of its QOS, the GPU minutes of its account. Stock Slurm lets the job run on. A resize by requeue
# must not lose it: it runs again afterwards.
# seconds: 600
. "$here/site.sh"
site_up
runs() { is_state "$job" RUNNING; }
# While rigid jobs hold the rest, it runs with 1 or 2 GPUs. Then LOWER..., and room for 4.
resize_below() { # NAME OPTIONS... -- LOWER...
    local id name=$1 options=() holders=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    holders=("$(user_rigid carol 900 --gpus=a100:4 -w n1)" "$(user_rigid carol 900 --gpus=a100:4 -w n2)")
    for id in "${holders[@]}"; do wait_for 30 "start of a rigid job" is_state "$id" RUNNING; done
    user_job alice "$name" -t 60 --malleable=1:8 "${options[@]}" -- 100000 100
    wait_for 60 "run with 2 for $name" runs_with "$job" 2
    "$@"
    sleep 6
    runs || fail "$name: Slurm ended it: $(state_of "$job")"
    scancel "${holders[@]}"
    wait_for 60 "request for $name" has_event "$job" asked
    wait_for 60 "resize for $name" has_event "$job" resized
    wait_for 60 "run after the resize for $name" runs
    note "measured: $name runs with $(gpus_of "$job"), gap $(gap_of "$job") s, limit $(field "$job" TimeLimit)"
    check_steps
    as alice scancel "$job"
    wait_for 60 "end of all jobs" cancel_jobs
}
resize_below max_time -- scontrol update partitionname=main MaxTime=5
scontrol update partitionname=main MaxTime=7-0
resize_below max_wall -q team -- limit qos team set MaxWall=5
limit qos team set MaxWall=-1
# Eight GPUs for an hour are more than the account may run.
resize_below run_minutes -- limit account physics set GrpTRESRunMins=gres/gpu=300
