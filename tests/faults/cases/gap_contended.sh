# SPDX-License-Identifier: BSD-3-Clause
# Other jobs want the GPUs of a job in the gap between stop and restart (F27). A job that is already pending
# never gets them: the malleable job is not asked then. A job submitted in those two seconds may get them. The
# malleable job then restarts at once with what is left, and grows again when there is room.
start_job away --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
# Shrinks for a rigid job of 8. Another rigid job of 16, behind that one in the queue, waits for all GPUs: it
# must not start in the gap. From 23.11 on each job's priority is 1 if the site sets no weights, and only a
# negative nice value changes that.
big=$(rigid 16 10 -N4)
sleep 4
is_state "$big" PENDING && runs_with "$job" 16 || fail "the job gave all of its GPUs away"
guest=$(rigid 8 30 -N2 --nice=-100)
wait_for 40 "shrink to 8 GPUs" runs_with "$job" 8
is_state "$big" PENDING || fail "the job lost its place to one that came later in the queue"
scancel "$big" "$guest"
wait_for 60 "growth to 16 GPUs" runs_with "$job" 16
# A job submitted in the gap itself, for the GPUs that the malleable job leaves.
taken=0
for round in 1 2; do
    guest=$(rigid 8 300 -N2)
    wait_for 30 "requeue" is_state "$job" PENDING
    thief=$(rigid 4 300 -N1)
    wait_for 60 "run after the gap" is_state "$job" RUNNING
    is_state "$thief" RUNNING && taken=$((taken + 1))
    scancel "$guest" "$thief"
    wait_for 90 "growth to 16 GPUs in round $round" runs_with "$job" 16
done
check_steps
note "measured: $taken of 2 jobs that came in the gap got GPUs there"
injected 3
