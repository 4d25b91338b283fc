# SPDX-License-Identifier: BSD-3-Clause
# A job has all 16 GPUs. A rigid job is submitted and gets the half that is borrowed.
user=nobody
start_job shrink --malleable=1:16 -- 100000 100
wait_for 30 "start with 16 GPUs" runs_with "$job" 16
wait_for 20 "ten steps" has_steps 10
guest=$(rigid 8 300 -N2)
wait_for 40 "start of the rigid job" is_state "$guest" RUNNING
wait_for 40 "shrink to 8 GPUs" runs_with "$job" 8
wait_for 20 "more steps" has_steps $(($(steps_done) + 5))
check_steps
note "measured: $(gap_of "$job") s from signal to running again (4 nodes to 2)"
