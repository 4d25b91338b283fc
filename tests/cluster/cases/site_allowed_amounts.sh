# SPDX-License-Identifier: BSD-3-Clause
# Limits of nodes, memory and billing of a QOS: a job of 1 to 8 runs with the 4 GPUs that each of them leaves, and is
# not asked to leave them for 8, though 8 are free. The limit is raised, and it grows.
. "$here/site.sh"
site_up

stays_below() { # LIMIT HIGHER OPTIONS...
    local name=${1%=*} limit=$1 higher=$2
    shift 2
    limit qos team set GrpTRES="$limit"
    user_job alice "$name" -q team --exclude=n3 --malleable=1:8 "$@" -- 100000 100
    wait_for 60 "run with 4 below $limit" runs_with "$job" 4
    sleep 8
    runs_with "$job" 4 || fail "it does not run with 4 below $limit"
    has_event "$job" asked && fail "it was asked to leave for a size above $limit"
    # What a first run will be billed is not known.
    [ "$name" = billing ] || ! has_event "$job" downsized || fail "it was released with a size above $limit"
    limit qos team set GrpTRES="$higher"
    wait_for 90 "run with 8 below $higher" runs_with "$job" 8
    check_steps
    as alice scancel "$job"
    wait_for 60 "end of all jobs" no_jobs
    limit qos team set GrpTRES="$name=-1"
}
stays_below node=1 node=2
stays_below mem=500 mem=1000 --mem-per-gpu=100
stays_below mem=1000 mem=2000 --mem=1000
stays_below billing=40 billing=80
