# SPDX-License-Identifier: BSD-3-Clause
# The user holds, suspends and requeues the job during a resize (F24): the user's action stands.
user=nobody
start_job held --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
fill_gap
as_user scontrol hold "$job"
timeout 10 scancel "$blocker"
sleep 4
is_state "$job" PENDING || fail "a held job was started"
as_user scontrol release "$job"
wait_for 30 "start after the hold" runs_with "$job" 8
check_steps
clear_jobs

start_job suspended --malleable=1:16 --malleable-grace=0:04 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
timeout 10 scontrol suspend "$job"
wait_for 10 "suspension" is_state "$job" SUSPENDED
guest=$(rigid 8 300 -N2)
sleep 3
timeout 10 scontrol resume "$job"
wait_for 40 "resize after the suspension" runs_with "$job" 8
check_steps
clear_jobs

start_job requeued --malleable=1:4 -- 100000 100
wait_for 30 "start" runs_with "$job" 4
wait_for 10 "steps" has_steps 5
as_user scontrol requeue "$job"
wait_for 60 "second start" bash -c "[ \"\$(grep -c ^start $directory/log)\" = 2 ]"
