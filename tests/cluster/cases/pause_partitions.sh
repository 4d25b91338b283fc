# SPDX-License-Identifier: BSD-3-Clause
# Partitions without a common node. A paused job whose user gives it another partition continues there. So does one that
# was submitted for both, when the GPUs of the other are free.
# seconds: 300
. "$here/pause.sh"
user=nobody
restore() {
    (clear_jobs)
    timeout 10 scontrol delete partitionname=other
    timeout 10 scontrol update partitionname=main nodes=n1,n2,n3,n4
    for _ in $(seq 20); do # until the controller has told job_submit so
        job=$(timeout 10 sbatch --parsable --hold --malleable=1:16 -o /dev/null --wrap true 2>/dev/null) && break
        sleep 1
    done
    timeout 10 scancel "$job"
}
trap restore EXIT
timeout 10 scontrol update partitionname=main nodes=n1,n2
timeout 10 scontrol create partitionname=other nodes=n3,n4 state=up || fail "no partition"
start_half() { # NAME PARTITIONS
    start_job "$1" -p "$2" --malleable=4:8 --malleable-pause -- 100000 100
    wait_for 40 "start with 8 GPUs" runs_with "$job" 8
    wait_for 20 "steps" has_steps 5
}
half() { as_user sbatch --parsable -J half -o /dev/null -p "$1" --malleable=8:8 --wrap "sleep 600"; } # PARTITION
runs_in() { runs_with "$job" 8 && has_field "$job" Partition "$1"; }

start_half moved main
short=$(half main)
wait_for 60 "pause" is_paused "$job"
# 26.05 once answered "Resource temporarily unavailable".
wait_for 10 "change of the partition" as_user scontrol update jobid="$job" partition=other
wait_for 60 "8 GPUs in the other partition" runs_in other
is_state "$short" RUNNING || fail "the short job is $(state_of "$short")"
check_steps
clear_jobs

start_half both main,other
short=$(half main)
wait_for 60 "8 GPUs in the other of its partitions" runs_in other
check_steps
# Both are full: it is paused until either is free.
short=$(half other)
wait_for 60 "pause" is_paused "$job"
timeout 10 scancel "$short"
wait_for 60 "8 GPUs there again" runs_in other
check_steps
