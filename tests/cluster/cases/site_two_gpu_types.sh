# SPDX-License-Identifier: BSD-3-Clause
# Two GPU types, and overlapping partitions. A job that waits for one type makes no job give up the other,
# and a job counts only the GPUs of its own partition.
. "$here/site.sh"
site_up

# n4 is free but in no partition of alice's: her job gets what main has, at once.
blocker=$(user_rigid bob 600 --gpus=6 --nodes=2 -w "n[2-3]")
wait_for 30 "start of bob's job" is_state "$blocker" RUNNING
user_job alice mine --malleable=1:8 -- 100000 100
wait_for 60 "run with 4" runs_with "$job" 4
[ "$(count_events "$job" downsized)" = 0 ] || fail "it was released with GPUs that are not in its partition"

# Two rigid jobs for one node of h100: the second waits, and alice's job is left alone.
holder=$(user_rigid carol 600 -p large --gpus=h100:4)
wait_for 30 "start of carol's job" is_state "$holder" RUNNING
waiting=$(user_rigid dave 600 -p large --gpus=h100:4)
sleep 8
is_state "$waiting" PENDING || fail "dave's job is $(state_of "$waiting")"
has_event "$job" asked && fail "alice's job was asked for the sake of one that waits for another GPU type"
runs_with "$job" 4 || fail "alice's job does not run with its 4 GPUs"

# Idle GPUs of her type are used meanwhile.
as bob scancel "$blocker"
wait_for 60 "growth while another job waits for h100" runs_with "$job" 8
check_steps
