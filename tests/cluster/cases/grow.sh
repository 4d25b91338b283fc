# SPDX-License-Identifier: BSD-3-Clause
# A job that shares the cluster with a rigid job has one node. When the rigid job ends, it grows over two.
user=nobody
blocker=$(rigid 12 300 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
start_job grow --malleable=1:8 -- 100000 100
wait_for 30 "start with 4 GPUs" runs_with "$job" 4
wait_for 20 "ten steps" has_steps 10
scancel "$blocker"
wait_for 40 "growth to 8 GPUs" runs_with "$job" 8
wait_for 10 "event" has_event "$job" resized
wait_for 20 "more steps" has_steps $(($(steps_done) + 5))
check_steps
note "measured: $(gap_of "$job") s from signal to running again (1 node to 2)"
grep -q FAILED "$dir/log/slurmctld.log" && fail "something FAILED"
true
