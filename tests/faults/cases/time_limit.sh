# SPDX-License-Identifier: BSD-3-Clause
# Each requeue grants a fresh time limit. Over its resizes a job gets no more than it requested (F29). A
# requeue by its user brings a fresh one, as without malleable jobs. Slurm counts in whole minutes and ends
# jobs somewhat late, so the case checks the limits and not the clock.
limit_of() { timeout 10 squeue -h -j "$job" -o %l; }
minutes_of() { awk -F: '{ print NF == 3 ? $1 * 60 + $2 : $1 }' <<<"$(limit_of)"; }
start_job limited --malleable=1:16 --malleable-grace=0:10 -t 4 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
[ "$(minutes_of)" = 4 ] || fail "starts with $(limit_of)"
sleep 62
guest=$(rigid 8 300 -N2)
wait_for 40 "shrink" runs_with "$job" 8
[ "$(minutes_of)" = 2 ] || fail "after more than a minute of four it has $(limit_of) left"
scancel "$guest"
wait_for 40 "growth" runs_with "$job" 16
[ "$(minutes_of)" = 2 ] || fail "after two resizes it has $(limit_of) left"
timeout 10 scontrol requeue "$job"
wait_for 60 "its own requeue" has_line 'restarts=3 '
wait_for 20 "start" runs_with "$job" 16
[ "$(minutes_of)" = 4 ] || fail "after a requeue of its own it has $(limit_of)"
# A limit that the administrator sets stands, whatever was used.
timeout 10 scontrol update jobid="$job" timelimit=30
guest=$(rigid 8 300 -N2)
wait_for 40 "shrink" runs_with "$job" 8
[ "$(minutes_of)" -ge 28 ] && [ "$(minutes_of)" -le 30 ] || fail "the administrator gave 30 minutes, it has $(limit_of)"
check_runs
clear_jobs

# Suspended time is not run time.
start_job suspended --malleable=1:16 --malleable-grace=0:10 -t 3 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
timeout 10 scontrol suspend "$job"
wait_for 10 "suspension" is_state "$job" SUSPENDED
sleep 62
timeout 10 scontrol resume "$job"
guest=$(rigid 8 300 -N2)
wait_for 40 "shrink" runs_with "$job" 8
[ "$(minutes_of)" -ge 2 ] || fail "after a minute suspended, of three, it has $(limit_of) left"
check_steps
injected 5
