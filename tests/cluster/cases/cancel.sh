# SPDX-License-Identifier: BSD-3-Clause
# scancel during each state of a resize (F24, I8): the job is cancelled and never runs again.
# seconds: 480
check_cancelled() { # WHEN
    timeout 10 scancel "$job"
    wait_for 20 "end of the job cancelled $1" is_state "$job" CANCELLED
    local before
    before=$(starts)
    sleep 3
    is_state "$job" CANCELLED && [ "$(starts)" = "$before" ] || fail "the job cancelled $1 started again"
}

start_job queued --malleable=1:8 --begin=now+60 -- 100000 100
wait_for 10 "job" is_state "$job" PENDING
check_cancelled "while it waits for its start time"
clear_jobs

start_job running --malleable=1:8 -- 100000 100
wait_for 30 "start" runs_with "$job" 8
check_cancelled "while it runs"
clear_jobs

start_job asked --malleable=1:16 -- 100000 100 ignore
wait_for 30 "start" runs_with "$job" 16
guest=$(rigid 8 300 -N2)
wait_for 20 "request" intent_is "$job" asked
check_cancelled "while it is asked"
clear_jobs

start_job leaving --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
guest=$(rigid 8 300 -N2)
wait_for 30 "save" has_line '^save'
check_cancelled "while it leaves"
clear_jobs

start_job back --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
fill_gap
check_cancelled "while it waits to restart"
