# SPDX-License-Identifier: BSD-3-Clause
# A job without --malleable that needs more than the GPUs above MIN: a training that may be paused gives it all of its
# GPUs, and one that may not gives what it has borrowed.
# seconds: 300
. "$here/pause.sh"
user=nobody
start_training gives -- 100000 100
guest=$(rigid 16 8 -N4)
wait_for 60 "pause" is_paused "$job"
wait_for 40 "start of the rigid job" is_state "$guest" RUNNING
wait_for 60 "end of the rigid job" is_state "$guest" COMPLETED
resumes "after the rigid job"
check_steps
# The GPUs above its MIN suffice: it shrinks and is not paused.
guest=$(rigid 8 8 -N2)
wait_for 60 "start of a smaller rigid job" is_state "$guest" RUNNING
wait_for 40 "8 GPUs" runs_with "$job" 8
[ "$(count_events "$job" paused)" = 1 ] || fail "paused for a job that fits beside it"
wait_for 60 "end of the rigid job" is_state "$guest" COMPLETED
resumes "after a smaller one"
check_steps
clear_jobs

start_job keeps --malleable=4:16 -- 100000 100
wait_for 40 "start with 16 GPUs" runs_with "$job" 16
guest=$(rigid 16 8 -N4)
sleep 8
is_state "$guest" PENDING || fail "the rigid job is $(state_of "$guest")"
[ "$(count_events "$job" paused)" = 0 ] || fail "a job that did not ask was paused"
check_steps
