# SPDX-License-Identifier: BSD-3-Clause
# QOS limits of nodes, memory and billing: a job of 1 to 8 runs with the 4 GPUs that each of them leaves, and
# is not asked to grow to 8, though 8 are free. The limit is raised, and it grows.
. "$here/site.sh"
site_up
limit qos team set GrpTRES=gres/gpu=-1

stays_below() { # NAME LIMIT HIGHER OPTIONS...
    local name=$1 limit=$2 higher=$3
    shift 3
    limit qos team set GrpTRES="$limit"
    user_job alice "$name" -q team --exclude=n3 --malleable=1:8 "$@" -- 100000 100
    wait_for 60 "run with 4 below $limit" runs_with "$job" 4
    sleep 8
    runs_with "$job" 4 || fail "it does not run with 4 below $limit"
    has_event "$job" asked && fail "it was asked to leave for a size above $limit"
    has_event "$job" downsized && fail "it was released with a size above $limit"
    limit qos team set GrpTRES="$higher"
    wait_for 90 "run with 8 below $higher" runs_with "$job" 8
    check_steps
    as alice scancel "$job"
    wait_for 60 "end of all jobs" no_jobs
    limit qos team set GrpTRES="${limit%=*}=-1"
}
stays_below nodes node=1 node=2
stays_below mem_per_gpu mem=500 mem=1000 --gpus=4 --mem-per-gpu=100
stays_below mem mem=1000 mem=2000 --mem=1000

# The billing of its first run is not known in advance, so the limit is set once it runs.
guest=$(user_rigid bob 600 --gpus=4 --nodes=1)
wait_for 30 "start of bob's job" is_state "$guest" RUNNING
user_job alice billing -q team --exclude=n3 --malleable=1:8 -- 100000 100
wait_for 60 "run with 4" runs_with "$job" 4
limit qos team set GrpTRES=billing=40
sleep 22 # limits are listed every 20 s
as bob scancel "$guest"
sleep 8
runs_with "$job" 4 || fail "it does not run with 4 below billing=40"
has_event "$job" asked && fail "it was asked to leave for a size above billing=40"
limit qos team set GrpTRES=billing=80
wait_for 90 "run with 8 below billing=80" runs_with "$job" 8
check_steps
