# SPDX-License-Identifier: BSD-3-Clause
# The time limit of a training counts over its pauses: the time that it runs counts, the time that it is paused does not.
# A preloaded library puts the clock of all daemons forward by the minutes of both (tests/faults/set_clock.cpp).
# seconds: 400
. "$here/pause.sh"
. "$here/clock.sh"
trap put_back EXIT
restart "$clock" "${daemons[@]}"
minutes_of() { timeout 10 squeue -h -j "$job" -o %l | awk -F: '{ print NF == 3 ? $1 * 60 + $2 : $1 }'; }
start_training limited --malleable-grace=0:10 -t 4 -- 100000 100
[ "$(minutes_of)" = 4 ] || fail "starts with $(minutes_of) minutes"
echo 62 >"$RINGRT_CLOCK" # it runs for more than a minute
pause_for 600
[ "$(minutes_of)" = 2 ] || fail "paused after more than a minute of four, it has $(minutes_of) left"
echo 130 >"$RINGRT_CLOCK" # it is paused for more than a minute
timeout 10 scancel "$short"
resumes "after a minute"
[ "$(minutes_of)" = 2 ] || fail "after a pause of more than a minute it has $(minutes_of) minutes left"
pause_for 3
resumes "after a second pause"
[ "$(minutes_of)" = 2 ] || fail "after two pauses it has $(minutes_of) minutes left"
# A limit that an administrator sets while it is paused stands.
pause_for 600
timeout 10 scontrol update jobid="$job" timelimit=30 || fail "no time limit"
timeout 10 scancel "$short"
resumes "with another limit"
[ "$(minutes_of)" -ge 28 ] && [ "$(minutes_of)" -le 30 ] || fail "the administrator gave 30 minutes, it has $(minutes_of)"
check_steps
