# SPDX-License-Identifier: BSD-3-Clause
# A job that never saves is never stopped: after its grace time the resize is called off.
start_job deaf --malleable=1:16 --malleable-grace=0:05 -- 100000 100 ignore
wait_for 30 "start with 16 GPUs" runs_with "$job" 16
guest=$(rigid 8 300 -N2)
wait_for 20 "request" has_event "$job" asked
wait_for 20 "end of the request" has_event "$job" called_off
wait_for 20 "more steps" has_steps $(($(steps_done) + 10))
check_steps
[ "$(starts)" = 1 ] && runs_with "$job" 16 || fail "the job was stopped"
is_state "$guest" PENDING || fail "the rigid job started"
