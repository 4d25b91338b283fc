# SPDX-License-Identifier: BSD-3-Clause
# A job that ends while it is asked to save has ended: its own exit code is kept (F09).
start_job dies --malleable=1:16 -- 100000 100 die
wait_for 30 "start with 16 GPUs" runs_with "$job" 16
touch "$directory/done" # the other ranks end too
guest=$(rigid 8 300 -N2)
wait_for 20 "request" has_event "$job" asked
wait_for 30 "end of the job" is_state "$job" FAILED
wait_for 20 "word of its end" has_event "$job" lost
sleep 3
is_state "$job" FAILED || fail "the job runs again"
timeout 10 scontrol -o show job "$job" | grep -q 'ExitCode=9:0' || fail "not its own exit code"
