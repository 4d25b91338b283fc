# SPDX-License-Identifier: BSD-3-Clause
# A partition is DOWN before a maintenance. Its jobs keep running, but one that left for a resize would wait
# until the partition is up again. So no job is asked, although GPUs become free.
partition=$(timeout 10 sinfo -h -o %R | head -1)
state() { timeout 10 scontrol update partitionname="$partition" state="$1" || fail "Slurm refused $1"; }
trap 'state up' EXIT
guest=$(rigid 8 300 -N2)
wait_for 20 "start of the rigid job" is_state "$guest" RUNNING
start_job down --malleable=1:16 -- 100000 100
wait_for 30 "start with 8 GPUs" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
state down
sleep 7 # the plugin lists partitions every five seconds
timeout 10 scancel "$guest"
sleep 10
has_event "$job" asked && fail "it was asked to leave a partition that starts no jobs"
runs_with "$job" 8 || fail "it does not run on"
state up
wait_for 40 "growth once it is up" runs_with "$job" 16
check_steps
