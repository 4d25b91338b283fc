# SPDX-License-Identifier: BSD-3-Clause
# Limits of CPUs and of nodes hold at every size, for a malleable job and for one with MIN=MAX.
. "$here/site.sh"
site_up

# What the running jobs of a QOS hold, checked continuously.
held() { timeout 10 squeue -h -t R -q team -o '%C %D' | awk '{ cpus += $1; nodes += $2 } END { print cpus + 0, nodes + 0 }'; }
watch_limits() { # CPUS NODES
    local cpus nodes
    while sleep 0.2; do
        read -r cpus nodes < <(held)
        if [ "${cpus:-0}" -gt "$1" ] || [ "${nodes:-0}" -gt "$2" ]; then echo "$cpus CPUs, $nodes nodes" >>"$work/over"; fi
    done
}
expect_below() { # CPUS NODES GPUS: a job of 1 to 8 reaches this many GPUs
    rm -f "$work/over"
    watch_limits "$1" "$2" &
    local watcher=$!
    user_job alice "below$1" -q team --malleable=1:8 -- 100000 100
    wait_for 60 "run with $3" runs_with "$job" "$3"
    sleep 3
    # A job with MIN=MAX is a rigid job for Slurm's limits as well.
    as alice scancel "$job"
    wait_for 30 "end" is_state "$job" CANCELLED
    # (Slurm may refuse it at once if it needs more nodes than the limit allows.)
    if job=$(as alice sbatch --parsable -q team --malleable=8:8 -D / -o /dev/null --wrap "sleep 600" 2>"$work/refusal"); then
        sleep 12
        is_state "$job" PENDING || fail "8 of 8 GPUs: $(state_of "$job")"
        as alice scancel "$job"
    fi
    kill $watcher
    [ ! -e "$work/over" ] || fail "over the limit of $1 CPUs and $2 nodes: $(sort -u "$work/over" | tail -n 1)"
}

limit qos team set GrpTRES=gres/gpu=-1,cpu=4
expect_below 4 99 4
limit qos team set GrpTRES=cpu=-1,node=1
expect_below 99 1 4
