# SPDX-License-Identifier: BSD-3-Clause
# 4 -> 16 -> 4 GPUs: one node, four nodes, one node.
user=nobody
blocker=$(rigid 12 300 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
start_job both --malleable=1:16 -- 100000 100
wait_for 30 "start with 4 GPUs" runs_with "$job" 4
scancel "$blocker"
wait_for 40 "growth to 16 GPUs" runs_with "$job" 16
guest=$(rigid 12 300 -N3)
wait_for 40 "shrink to 4 GPUs" runs_with "$job" 4
wait_for 20 "start of the rigid job" is_state "$guest" RUNNING
wait_for 20 "more steps" has_steps $(($(steps_done) + 5))
check_steps
[ "$(count_events "$job" resized)" = 2 ] || fail "expected 2 resizes, got $(count_events "$job" resized)"
